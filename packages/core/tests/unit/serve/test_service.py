from __future__ import annotations

import asyncio
import os
import signal
import socket

import pytest

from kernelet.contracts.serving import EngineHealth, Server, ServerOffer
from kernelet.errors import EngineDeadError, KerneletError
from kernelet.serve import service
from kernelet.serve.engine import Joined
from kernelet.serve.frontends import Frontends
from kernelet.serve.plan import make_plan
from kernelet.serve.service import Service, is_listening
from kernelet.testing.plugin_view import FixedPlugins


def test_a_socket_tells_whether_it_listens():
    one = socket.socket()
    one.bind(("127.0.0.1", 0))
    assert not is_listening(one)
    one.listen()
    assert is_listening(one)
    one.close()
    assert is_listening(one)


class Engine:
    state = "ready"

    def health(self):
        return EngineHealth(state=self.state, detail=f"it is {self.state}")


class Waiting(Server):
    """Ends when it is told the ``patience``-th word; words are kept."""

    patience = 1
    words: list[str] = []  # noqa: RUF012  a test's

    async def run(self, sockets):
        self.words.clear()
        self.done = asyncio.Event()
        await self.done.wait()

    def heard(self, word):
        self.words.append(word)
        if len(self.words) >= self.patience and hasattr(self, "done"):
            self.done.set()

    def stop(self):
        self.heard("stop")

    def stop_now(self):
        self.heard("now")


class Patient(Waiting):
    patience = 2


class Deaf(Waiting):
    patience = 1000


class Ends(Waiting):
    async def run(self, sockets):
        await asyncio.sleep(0)


class Breaks(Waiting):
    async def run(self, sockets):
        raise OSError("no more files")


def make(server, engine=None, timeout=60.0, **fields):
    plugins = FixedPlugins([ServerOffer(name="s", target="s")], targets={"s": server})
    start = type("Start", (), {"num_frontends": 1, "sockets": []})()
    return Service(
        plan=make_plan(plugins, None, [], ["m"]),
        joined=Joined(
            engine=engine or Engine(), plugins=plugins, manifest_digest="d", close=lambda: None, cut=lambda reason: None
        ),
        sockets=[],
        others=Frontends(start=start, digest="d"),
        timeout=timeout,
        **fields,
    )


def run(server, *signals, **fields):
    """Runs a service; each signal is sent once it serves, one turn of the loop after the other."""

    async def main():
        async def send():
            for number in signals:
                os.kill(os.getpid(), number)
                await asyncio.sleep(0.05)

        return await make(server, on_ready=lambda: sending.append(asyncio.create_task(send())), **fields).run()

    sending = []
    before = [signal.getsignal(number) for number in service.SIGNALS]
    try:
        return asyncio.run(main())
    finally:
        assert [signal.getsignal(number) for number in service.SIGNALS] == before


@pytest.mark.parametrize("number", service.SIGNALS)
def test_a_signal_ends_in_order(number):
    assert run(Waiting, number) == 0
    assert Waiting.words[0] == "stop"


@pytest.mark.parametrize("second", service.SIGNALS)
def test_a_second_signal_cuts(second):
    assert run(Patient, signal.SIGTERM, second) == 128 + signal.SIGTERM
    assert Waiting.words[:2] == ["stop", "stop"] or "now" in Waiting.words


def test_time_that_is_up_cuts():
    assert run(Patient, signal.SIGINT, timeout=0.05) == 128 + signal.SIGINT


def test_a_server_that_hears_nothing_is_left(monkeypatch):
    monkeypatch.setattr(service, "LAST_SECONDS", 0.05)
    assert run(Deaf, signal.SIGTERM, signal.SIGTERM) == 128 + signal.SIGTERM


def test_a_frontend_that_hears_nothing_is_killed(monkeypatch):
    monkeypatch.setattr(service, "LAST_SECONDS", 0.05)
    stuck = asyncio.Event()

    async def wait(self):
        await stuck.wait()

    monkeypatch.setattr(Frontends, "wait", wait)
    monkeypatch.setattr(Frontends, "kill", lambda self: stuck.set())
    assert run(Patient, signal.SIGTERM, signal.SIGTERM) == 128 + signal.SIGTERM


def test_a_server_that_ends_by_itself_is_an_error():
    with pytest.raises(KerneletError, match="the server s ended by itself"):
        run(Ends)


def test_what_a_server_raises_is_raised():
    with pytest.raises(OSError, match="no more files"):
        run(Breaks)


def dead_after_start(engine):
    async def main():
        return await make(Waiting, engine, on_ready=lambda: setattr(engine, "state", "dead")).run()

    return main()


def test_an_engine_that_is_dead_ends_the_service_after_a_while(monkeypatch):
    monkeypatch.setattr(service, "WATCH_SECONDS", 0.01)
    monkeypatch.setattr(service, "DEAD_SECONDS", 0.05)
    with pytest.raises(EngineDeadError, match="it is dead"):
        asyncio.run(dead_after_start(Engine()))
    assert Waiting.words[0] == "stop"


@pytest.mark.parametrize("state, restarts", [("dead", True), ("stalled", False), ("starting", False)])
def test_other_states_do_not(monkeypatch, state, restarts):
    monkeypatch.setattr(service, "WATCH_SECONDS", 0.001)
    monkeypatch.setattr(service, "DEAD_SECONDS", 0.0)
    engine = Engine()
    engine.state = state

    async def main():
        def later():
            asyncio.get_running_loop().call_later(0.1, os.kill, os.getpid(), signal.SIGTERM)

        return await make(Waiting, engine, on_ready=later, restarts=restarts).run()

    assert asyncio.run(main()) == 0
