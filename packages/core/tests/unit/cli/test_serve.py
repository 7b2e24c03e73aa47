from __future__ import annotations

import logging
import socket

import pytest

import kernelet.serve.launch
from kernelet.engine.option_sources import ResolvedOptions

PLUGINS = "core,kernelet.testing.null:plugin,kernelet.testing.server.reference:plugin"
ENDPOINT = "kernelet.testing.endpoint.reference:plugin"


@pytest.fixture(autouse=True)
def server(monkeypatch):
    monkeypatch.setenv("KERNELET_PLUGINS", PLUGINS)
    level = logging.getLogger("kernelet.serve").level
    yield
    logging.getLogger("kernelet.serve").setLevel(level)


@pytest.fixture
def served(monkeypatch):
    """What would be served."""
    calls = []

    def serve(model, resolved, options):
        assert isinstance(resolved, ResolvedOptions)
        calls.append((model, resolved, options))
        return 143

    monkeypatch.setattr(kernelet.serve.launch, "serve", serve)
    return calls


def test_options_arrive(kernelet, served, null_folder, monkeypatch):
    monkeypatch.setenv("KERNELET_API_SERVER_COUNT", "3")
    code, _, _ = kernelet("serve", null_folder, "--port", "9000", "--served-model-name", "a,b", "--max-num-seqs", "7")
    assert code == 143
    ((model, resolved, options),) = served
    assert (model, resolved.options.max_num_seqs) == (null_folder, 7)
    assert (options.port, options.served_model_name, options.api_server_count) == (9000, ("a", "b"), 3)


def test_flags_of_the_server_are_options_of_its_plugin(kernelet, served, null_folder):
    code, _, error = kernelet("serve", "--greeting", "good day", null_folder)
    assert code == 143, error
    plugin = "kernelet.testing.server.reference:plugin"
    assert served[0][1].options.set == {plugin: {"greeting": "good day"}}
    assert served[0][1].sources["set"] == "flags of the server, or their variables"


def test_the_help_shows_them(kernelet):
    code, out, _ = kernelet("serve", "--help")
    assert code == 0
    assert "--greeting TEXT" in out
    assert "A word that it is told. (default: hello)" in " ".join(out.split())
    for flag in ("--host", "--port", "--uds", "--server", "--endpoint", "--restart-engine", "--max-num-seqs"):
        assert f"\n  {flag}" in out


def test_the_help_says_why_it_shows_none(kernelet, monkeypatch):
    monkeypatch.setenv("KERNELET_PLUGINS", "core")
    code, out, _ = kernelet("serve", "--help")
    assert code == 0
    assert "The flags of a server are not shown: No plugin offers a server" in " ".join(out.split())


def test_print_config(kernelet, null_folder, monkeypatch):
    monkeypatch.setenv("KERNELET_PLUGINS", f"{PLUGINS},{ENDPOINT}")
    code, out, _ = kernelet("serve", null_folder, "--print-config", "--endpoint", "beside", "--port", "1")
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert ["port", "1", "--port"] in rows
    assert ["host", "127.0.0.1", "default"] in rows
    assert next(row for row in rows if row[:2] == ["serve.server", "reference"])
    assert next(row for row in rows if row[:4] == ["serve.endpoint", "beside", "at", "/beside"])
    assert next(row for row in rows if row[0] == "model.architecture")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--prot", "1"], "unrecognized arguments: --prot 1"),
        (["--port", "x"], "argument --port: got 'x', expected an integer"),
        (["--greet", "x"], "unrecognized arguments: --greet x"),
    ],
)
def test_wrong_usage(kernelet, null_folder, arguments, message):
    code, _, error = kernelet("serve", null_folder, *arguments)
    assert code == 2
    assert message in error


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--server", "none"], "No server is named 'none'. Choices: reference"),
        (["--endpoint", "none"], "No endpoint is named 'none'"),
        (["--greeting", ""], "greeting: got an empty text"),
        (["--host", "192.0.2.1"], "no address of this machine"),
        (["--uds", "/no/such/folder/s"], "its folder does not exist"),
        (["--served-model-name", "a, ,b", "--server", "x"], "No server is named 'x'"),
    ],
)
def test_what_cannot_be_served_is_refused_before_an_engine_starts(
    kernelet, null_folder, monkeypatch, arguments, message
):
    monkeypatch.setattr("kernelet.serve.launch.start_engine", not_reached)
    code, _, error = kernelet("serve", null_folder, *arguments)
    assert code == 1
    assert message in error


def not_reached(*arguments, **options):
    raise AssertionError("an engine was started")


def test_a_port_in_use(kernelet, null_folder, monkeypatch):
    monkeypatch.setattr("kernelet.serve.launch.start_engine", not_reached)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        code, _, error = kernelet("serve", null_folder, "--port", other.getsockname()[1])
    assert code == 1
    assert "is in use" in error


def test_a_prefix_that_is_taken(kernelet, null_folder, monkeypatch):
    """Both are named, so both are active; their own plugin is there twice under two names."""
    monkeypatch.setattr("kernelet.serve.launch.start_engine", not_reached)
    monkeypatch.setattr("kernelet.testing.server.reference.PATHS", ("beside",))
    monkeypatch.setenv("KERNELET_PLUGINS", f"{PLUGINS},{ENDPOINT}")
    code, _, error = kernelet("serve", null_folder, "--endpoint", "beside")
    assert code == 1
    assert "/beside belongs to the server reference" in error
