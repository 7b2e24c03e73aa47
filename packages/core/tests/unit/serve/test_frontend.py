from __future__ import annotations

import asyncio

import pytest

from kernelet.contracts.serving import Endpoint, EndpointOffer, Server, ServerOffer
from kernelet.serve.engine import Joined
from kernelet.serve.frontend import CUT, Stopper, run_frontend
from kernelet.serve.plan import make_plan
from kernelet.testing.plugin_view import FixedPlugins


class Waiting(Server):
    made: list[Waiting] = []  # noqa: RUF012  a test's

    def __init__(self, settings, context):
        super().__init__(settings, context)
        self.events = []
        self.stopped = asyncio.Event()
        self.made.append(self)

    async def run(self, sockets):
        self.events.append(("run", *sockets))
        await self.stopped.wait()

    def stop(self):
        self.events.append("stop")
        self.stopped.set()

    def stop_now(self):
        self.events.append("stop_now")


class Beside(Endpoint):
    app = None

    async def startup(self):
        self.engine.append("endpoint startup")

    async def shutdown(self):
        self.engine.append("endpoint shutdown")


VIEW = FixedPlugins(
    [ServerOffer(name="s", target="s"), EndpointOffer(name="e", target="e", prefix="/e")],
    targets={"s": Waiting, "e": Beside},
)


def run(stopper, engine, **fields):
    plan = make_plan(VIEW, None, ["e"], ["m"], 3)
    joined = Joined(engine=engine, plugins=VIEW, manifest_digest="d", close=None, cut=engine.append, **fields)
    ready = []

    async def main():
        task = asyncio.create_task(run_frontend(plan, joined, ["socket"], stopper, lambda: ready.append(True), index=2))
        for _ in range(10):
            await asyncio.sleep(0)
        stopper.stop()
        await task

    asyncio.run(main())
    return Waiting.made[-1], ready


def test_a_server_gets_all_that_it_is_promised():
    engine = []
    server, ready = run(Stopper(), engine, io_processors={"io": 1})
    context = server.context
    assert context.engine is engine
    assert (context.frontend_index, context.num_frontends, context.served_model_names) == (2, 3, ("m",))
    assert [(mounted.name, mounted.prefix) for mounted in context.endpoints] == [("e", "/e")]
    assert context.io_processors == {"io": 1}
    assert server.events == [("run", "socket"), "stop"]
    assert ready == [True]
    assert engine == ["endpoint startup", "endpoint shutdown"]


@pytest.mark.parametrize("how", ["stop", "stop_now"])
def test_one_that_is_stopped_before_it_starts_does_not_listen(how):
    stopper = Stopper()
    getattr(stopper, how)()
    server, ready = run(stopper, [])
    assert ("run", "socket") not in server.events
    assert how in server.events
    assert ready == []


def test_stops_reach_a_server_that_comes_later():
    stopper = Stopper()
    stopper.stop_now()
    assert stopper.asked
    server = Waiting.__new__(Waiting)
    server.events, server.stopped = [], asyncio.Event()
    stopper.attach(server, server.events.append)
    assert server.events == ["stop", CUT, "stop_now"], "requests are cut before their connections"
