"""``kernelet serve`` from its start to its end: one port, several frontends, signals, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest
from null_service import parents, until

from kernelet.contracts.sampling import SamplerParams
from kernelet.testing.null.tokens import generate

ENDLESS = json.dumps({"prompt": "x", "max_tokens": 1 << 19}).encode()


def body(prompt, count):
    return json.dumps({"prompt": prompt, "max_tokens": count}).encode()


def truth(prompt, count):
    """The text that the null model gives; ids from 256 on are special tokens."""
    tokens = generate(list(prompt.encode()), SamplerParams(seed=0, temperature=0.0), 260, count)
    return bytes(token for token in tokens if token < 256).decode(errors="replace")


def test_two_frontends_share_a_port_and_an_orderly_end_finishes_what_runs(serve):
    service = serve("--api-server-count", "2")
    assert len(service.children) == 2  # the engine and a frontend
    assert service.get("/live") == (200, "live")
    assert service.get("/ready") == (200, "ready")
    seen = set()
    until(lambda: seen.add(service.get("/frontend")) or len(seen) == 2, "answers of both")
    assert seen == {(200, "0 of 2"), (200, "1 of 2")}

    answers = {}

    def ask(index):
        answers[index] = service.request("POST", "/generate", body(f"prompt {index}", 400))

    threads = [threading.Thread(target=ask, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    with service.open("/generate", body("long", 2000)) as response:
        first = response.read(1)
        service.send(signal.SIGTERM)
        rest = first + response.read()
    for thread in threads:
        thread.join()
    assert service.end() == 0
    assert rest.decode() == truth("long", 2000)
    assert {index: (200, truth(f"prompt {index}", 400).encode()) for index in range(8)} == answers
    assert "SIGTERM: no new requests" in service.log
    assert "Traceback" not in service.log
    with pytest.raises(ConnectionRefusedError):
        service.get("/live")


def test_a_second_signal_cuts(serve):
    service = serve("--api-server-count", "2", "--shutdown-timeout", "3600")
    with service.open("/generate", ENDLESS) as one, service.open("/generate", ENDLESS) as other:
        assert one.read(1)
        assert other.read(1)
        service.send(signal.SIGINT)
        until(lambda: "SIGINT: no new requests" in service.log, "the first")
        assert service.process.poll() is None
        service.send(signal.SIGINT)
        assert service.end() == 128 + signal.SIGINT
    assert "SIGINT again: requests are cut" in service.log


@pytest.mark.long
def test_time_that_is_up_cuts(serve):
    service = serve("--shutdown-timeout", "0.5")
    with service.open("/generate", ENDLESS) as response:
        assert response.read(1)
        service.send(signal.SIGTERM)
        assert service.end() == 128 + signal.SIGTERM
    assert "--shutdown-timeout" in service.log


def test_children_end_with_a_parent_that_is_killed(serve):
    service = serve("--api-server-count", "2")
    with service.open("/generate", ENDLESS) as response:
        assert response.read(1)
        service.send(signal.SIGKILL)
        assert service.end() == -signal.SIGKILL


@pytest.mark.long
def test_a_frontend_that_dies_is_started_anew(serve):
    service = serve("--api-server-count", "2")
    (frontend,) = (pid for pid in service.children if b"kernelet.serve.child" in cmdline(pid))
    os.kill(frontend, signal.SIGKILL)
    until(lambda: "frontend 1 ended with exit code -9" in service.log, "the news")
    assert service.get("/ready") == (200, "ready")
    until(lambda: service.get("/frontend") == (200, "1 of 2"), "its successor")
    assert service.request("POST", "/generate", body("x", 5)) == (200, truth("x", 5).encode())
    service.send(signal.SIGTERM)
    assert service.end() == 0


def cmdline(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes()


@pytest.mark.long
def test_an_engine_that_dies_ends_the_service_after_its_clients_were_told(serve):
    service = serve()
    (engine,) = service.children
    with service.open("/generate", ENDLESS) as response:
        assert response.read(1)
        os.kill(engine, signal.SIGKILL)
        until(lambda: service.get("/ready")[0] == 503, "the news")
    status, said = service.request("POST", "/generate", body("x", 5))
    assert status == 503
    assert b"SIGKILL" in said
    assert service.get("/live") == (200, "live")
    assert service.end() == 1
    assert "--restart-engine" in service.log
    assert "SIGKILL" in service.log.splitlines()[-1]


@pytest.mark.long
def test_an_engine_that_dies_is_started_anew_if_asked(serve):
    service = serve("--restart-engine", "--api-server-count", "2")
    (engine,) = (pid for pid in service.children if b"remote.process" in cmdline(pid))
    os.kill(engine, signal.SIGKILL)
    until(lambda: engine not in parents(), "its end")
    answers = [(200, truth("x", 5).encode())] * 8
    until(
        lambda: [service.request("POST", "/generate", body("x", 5)) for _ in range(8)] == answers,
        "its successor, for all frontends",
    )
    service.send(signal.SIGTERM)
    assert service.end() == 0
