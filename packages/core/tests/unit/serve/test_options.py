from __future__ import annotations

import difflib

import pytest

from kernelet.engine.option_sources import resolve_options
from kernelet.engine.options import OPTIONS
from kernelet.errors import ConfigError
from kernelet.serve.options import SERVE_OPTIONS, ServeOptions, resolve_serve_options


def resolve(arguments=(), file=None, **environ):
    return resolve_serve_options(dict(arguments), file, environ=environ)


def test_names_are_not_the_engines():
    assert not {spec.name for spec in SERVE_OPTIONS} & {spec.name for spec in OPTIONS}


def test_no_variable_looks_like_a_misspelt_one_of_the_engine():
    """Each table is read for itself, and a name that is near one of its own is refused."""
    ours, theirs = ([spec.variable for spec in table] for table in (SERVE_OPTIONS, OPTIONS))
    assert not any(difflib.get_close_matches(name, theirs, cutoff=0.9) for name in ours)
    assert not any(difflib.get_close_matches(name, ours, cutoff=0.9) for name in theirs)


def test_argument_beats_variable_beats_file(tmp_path):
    file = tmp_path / "kernelet.toml"
    file.write_text('max_num_seqs = 3\n[serve]\nport = 1\nhost = "a"\nserved-model-name = ["x", "y"]\n')
    found = resolve({"port": "3"}, file, KERNELET_PORT="2", KERNELET_HOST="b")
    assert found.options == ServeOptions(port=3, host="b", served_model_name=("x", "y"))
    assert found.sources["port"] == "--port"
    assert found.sources["host"] == "KERNELET_HOST"
    assert found.sources["served_model_name"] == f"served_model_name in [serve] of {file}"
    assert found.sources["uds"] == "default"


def test_the_engine_leaves_the_section_alone(tmp_path):
    file = tmp_path / "kernelet.toml"
    file.write_text("max_num_seqs = 3\n[serve]\nport = 1\n")
    assert resolve_options({}, file, environ={}).options.max_num_seqs == 3


@pytest.mark.parametrize(
    "content, message",
    [
        ("[serve]\nprot = 1", "no option 'prot': did you mean 'port'"),
        ("[serve]\nmax_num_seqs = 1", "no option 'max_num_seqs'"),
        ("serve = 1", r"serve in .*: got 1, expected a section \[serve\]"),
        ("[serve]\nport = 65536", r"port in \[serve\] of .*: got 65536, expected an integer of at least 0 and at most"),
        ("[serve]\nshutdown_timeout = nan", "got nan, expected a number"),
        ("[serve]\napi_server_count = 0", "got 0"),
    ],
)
def test_a_wrong_section(tmp_path, content, message):
    file = tmp_path / "kernelet.toml"
    file.write_text(content)
    with pytest.raises(ConfigError, match=message):
        resolve({}, file)


def test_a_misspelt_variable():
    with pytest.raises(
        ConfigError, match="KERNELET_SERVED_MODEL_NAMES is no option: did you mean KERNELET_SERVED_MODEL_NAME"
    ):
        resolve(KERNELET_SERVED_MODEL_NAMES="a")


def test_what_kubernetes_sets_for_a_service_of_that_name():
    with pytest.raises(ConfigError, match="enableServiceLinks: false"):
        resolve(KERNELET_PORT="tcp://10.0.0.7:8000")
    others = {"KERNELET_SERVICE_HOST": "10.0.0.7", "KERNELET_SERVICE_PORT": "80", "KERNELET_PORT_80_TCP_PORT": "80"}
    assert resolve(**others).options == ServeOptions()


def test_an_empty_variable_is_none():
    assert resolve(KERNELET_UDS="", KERNELET_PORT="").options == ServeOptions()


@pytest.mark.parametrize("given", ["", " ", ()])
def test_an_empty_name_of_the_model_is_no_name(given):
    with pytest.raises(ConfigError, match=r"^--served-model-name: got an empty name"):
        resolve_serve_options({"served_model_name": given}, environ={})
    with pytest.raises(ConfigError, match=r"^KERNELET_SERVED_MODEL_NAME: got an empty name"):
        resolve_serve_options({}, environ={"KERNELET_SERVED_MODEL_NAME": ""})
    assert resolve_serve_options({}, environ={}).options.served_model_name == ()
