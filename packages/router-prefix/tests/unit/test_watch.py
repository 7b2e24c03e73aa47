from __future__ import annotations

import asyncio

import httpx

from kernelet_router_prefix.fleet import Fleet
from kernelet_router_prefix.settings import RouterSettings
from kernelet_router_prefix.upstream import Upstream
from kernelet_router_prefix.watch import Watch


def watched(engines, work):
    settings = RouterSettings(engines={"engine": ("http://a",)}, health_interval=0.01)

    async def run():
        fleet, upstream = Fleet(settings), Upstream(settings, httpx.MockTransport(engines.handle))
        watch = Watch(fleet, upstream, settings)
        try:
            await watch.start()
            await asyncio.wait_for(work(fleet.engines[0]), 60)
        finally:
            await watch.stop()
            await upstream.close()

    asyncio.run(run())


async def until(condition):
    while not condition():  # noqa: ASYNC110  it is told of nothing
        await asyncio.sleep(0.01)


def test_an_engine_goes_down_and_comes_back(engines, tmp_path):
    source = {"endpoint": f"ipc://{tmp_path}/e", "replay_endpoint": None, "topic": ""}
    engines.set("a", "/kv_event_sources", (200, {"0": source}))

    async def work(engine):
        assert engine.up, "it was looked at before the start was over"
        await until(lambda: engine.publishes)
        engines.set("a", "/health", httpx.ConnectError("refused"))
        await until(lambda: not engine.up and not engine.publishes)
        assert engine.detail == "refused"
        engines.set("a", "/health", (200, {}))
        await until(lambda: engine.up and engine.publishes)

    watched(engines, work)


def test_an_engine_whose_events_cannot_be_heard_is_used_all_the_same(engines, caplog):
    engines.set("a", "/kv_event_sources", (200, {"0": {"endpoint": "tcp://elsewhere:1"}}))

    async def work(engine):
        await until(lambda: "cannot be heard" in caplog.text)
        assert engine.up
        assert not engine.publishes

    watched(engines, work)
    assert caplog.text.count("cannot be heard") == 1
