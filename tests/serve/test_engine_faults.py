"""The engine's process, or a worker's, dies or stands still under load: with ``--restart-engine`` others take over.

Workers of a model that computes: ``test_worker_faults.py``.
"""

from __future__ import annotations

import asyncio
import os
import signal

import pytest
from checked_load import checked_load, until

CLIENTS = 20
AGAIN = 60


@pytest.fixture(scope="module")
def restarting(serve):
    with serve("--restart-engine", "--tensor-parallel-size", 2, "--engine-silence-timeout", 5) as running:
        yield running


def status(server, path="/ready"):
    return server.request(path, timeout=60)[0]


@pytest.mark.parametrize(
    "fault",
    [pytest.param(signal.SIGKILL, id="dies"), pytest.param(signal.SIGSTOP, id="stands still", marks=pytest.mark.long)],
)
@pytest.mark.parametrize("role", ["engine", "worker"])
def test_requests_fail_clearly_and_others_go_on(restarting, known, role, fault):
    server = restarting

    async def run():
        async with checked_load(server.url, CLIENTS, known, "null") as load:
            await until(lambda: load.answered >= CLIENTS, "answers come")
            gone = server.pids("engine") + server.pids("worker")
            assert len(gone) == 3
            os.kill(server.pids(role)[-1], fault)
            await until(lambda: status(server) == 503, "it is not ready")
            assert status(server, "/live") == 200
            await until(lambda: status(server) == 200, "it is ready again")
            assert not set(gone) & set(server.pids())
            answered = load.answered
            await until(lambda: load.answered >= answered + AGAIN, "answers come again")
        return load

    with server.back_to_baseline():
        load = asyncio.run(run())
    assert not load.wrong
    assert load.errors, "nobody noticed"
    for (kind, message), count in load.errors.items():
        assert kind in {"HTTP 503", "error in the stream"}, (kind, message, count)
        assert "engine" in message, (kind, message, count)


def test_without_restart_it_says_so(serve, known):
    with serve() as server:

        async def run():
            async with checked_load(server.url, CLIENTS, known, "null") as load:
                await until(lambda: load.answered >= CLIENTS, "answers come")
                (engine,) = server.pids("engine")
                os.kill(engine, signal.SIGKILL)
                await until(lambda: load.errors.total() >= 2 * CLIENTS, "requests fail at once")
            return load

        load = asyncio.run(run())
        assert not load.wrong
        assert {kind for kind, _ in load.errors} <= {"HTTP 503", "error in the stream"}
        assert all("engine" in message for _, message in load.errors)
        assert (status(server), status(server, "/health"), status(server, "/live")) == (503, 503, 200)
