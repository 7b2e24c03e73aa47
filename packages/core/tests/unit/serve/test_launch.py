from __future__ import annotations

import logging
import os
import signal
import socket
import threading

import pytest

from kernelet.engine import bootstrap
from kernelet.engine.option_sources import resolve_options
from kernelet.errors import ConfigError
from kernelet.serve import engine, launch
from kernelet.serve.options import ServeOptions
from kernelet.testing.server.serving import Call, Opened

ENDPOINT = "kernelet.testing.endpoint.reference:plugin"


@pytest.fixture
def in_process(monkeypatch):
    """Engines in this process, in place of processes."""
    started = []

    def spawn(configured, options):
        client = bootstrap.start_in_process(configured)
        client.folder = ""
        started.append(client)
        return client

    monkeypatch.setattr(engine, "spawn_engine", spawn)
    return started


@pytest.fixture
def resolved(null_options):
    return resolve_options(null_options | {"plugins": [*null_options["plugins"], ENDPOINT]}, environ={})


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_a_service_serves_and_leaves_nothing(in_process, null_folder, resolved, monkeypatch, caplog):
    port, answers = free_port(), []

    def ask():
        for path in ("/ready", "/beside", "/frontend"):
            opened = Opened(port, Call(path=path), 60.0)
            answers.append((opened.status, opened.first() + opened.rest()))
            opened.close()
        os.kill(os.getpid(), signal.SIGTERM)

    ready = threading.Event()
    announce = launch.announce
    monkeypatch.setattr(launch, "announce", lambda *given: (announce(*given), ready.set()))

    def wait_and_ask():
        assert ready.wait(60)
        ask()

    asking = threading.Thread(target=wait_and_ask)
    asking.start()
    options = ServeOptions(port=port, endpoint=("beside",), served_model_name=("m",))
    with caplog.at_level(logging.INFO, "kernelet.serve"):
        assert launch.serve(null_folder, resolved, options) == 0
    asking.join()
    assert answers == [(200, b"ready"), (200, b'{"state": "ready"}'), (200, b"0 of 1")]
    assert f"serving m at http://127.0.0.1:{port}: server reference, frontends: 1, beside at /beside" in caplog.text
    assert in_process[0].health().state == "dead"
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_model_that_cannot_what_an_endpoint_needs(in_process, null_folder, resolved, monkeypatch):
    monkeypatch.setattr("kernelet.engine.async_llm.AsyncLLM.supported_tasks", ("embed",))
    with pytest.raises(ConfigError, match="the endpoint beside needs a model that can generate"):
        launch.serve(null_folder, resolved, ServeOptions(port=0, endpoint=("beside",)))
    assert in_process[0].health().state == "dead"


def test_names_and_number(null_folder, resolved):
    configured, plan = launch.configure(null_folder, resolved, ServeOptions(api_server_count=3))
    assert plan.served_model_names == (null_folder,)
    assert plan.num_frontends == 3
    assert configured.config.plugins.endpoints == ()
    assert configured.served_model_name == plan.served_model_names[0] == null_folder
    named, _ = launch.configure(null_folder, resolved, ServeOptions(served_model_name=("a", "b")))
    assert named.served_model_name == "a"


def test_a_signal_ends_a_start():
    before = signal.getsignal(signal.SIGTERM)

    def start():
        with launch.ending_at_once():
            os.kill(os.getpid(), signal.SIGTERM)
            threading.Event().wait(10)

    with pytest.raises(SystemExit) as stop:
        start()
    assert stop.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before
