from __future__ import annotations

import asyncio
import logging

import pytest

from kernelet.contracts.plugins import Owned
from kernelet.contracts.serving import Endpoint, EndpointOffer, ServerOffer
from kernelet.errors import ConfigError, PluginError
from kernelet.serve.endpoints import Endpoints, Guarded, check_prefixes, check_tasks
from kernelet.testing.plugin_view import FixedPlugins

SERVER = Owned(offer=ServerOffer(name="s", target="m:S", paths=("v1", "health")), plugin="p")


def endpoint(name="e", prefix="/e", **fields):
    return Owned(offer=EndpointOffer(name=name, target=name, prefix=prefix, **fields), plugin="p")


def test_prefixes_of_their_own():
    check_prefixes(SERVER, [endpoint("a", "/a"), endpoint("b", "/v1x"), endpoint("c", "/a-b.c_d~e")])


@pytest.mark.parametrize(
    "prefix", ["", "/", "a", "/a/", "/a/b", "/A", "/a b", "/a%20", "/..", "/a?", "//a", "/-a", "/a\n", None, 3]
)
def test_prefixes_that_are_none(prefix):
    with pytest.raises(ConfigError, match="it must be one part, like /console"):
        check_prefixes(SERVER, [endpoint(prefix=prefix)])


@pytest.mark.parametrize("prefix", ["/v1", "/health"])
def test_the_servers_paths_cannot_be_had(prefix):
    with pytest.raises(ConfigError, match=rf"{prefix} belongs to the server s: the endpoint e \(p\) cannot have it"):
        check_prefixes(SERVER, [endpoint(prefix=prefix)])


def test_a_prefix_has_one_owner():
    with pytest.raises(ConfigError, match=r"/e belongs to the endpoint a \(p\): the endpoint b \(p\)"):
        check_prefixes(SERVER, [endpoint("a"), endpoint("b")])


def test_tasks():
    check_tasks([endpoint(required_tasks=("generate",))], ("generate", "embed"), "m")
    with pytest.raises(ConfigError, match="the endpoint e needs a model that can embed: m can generate"):
        check_tasks([endpoint(required_tasks=("generate", "embed"))], ("generate",), "m")


class Recording(Endpoint):
    events: list[str]
    fails: frozenset[str] = frozenset()

    def note(self, what):
        self.events.append(f"{self.settings.plugin} {what}")
        if what in self.fails:
            raise OSError("no such thing")

    @property
    def app(self):
        return lambda *_: None

    async def startup(self):
        self.note("startup")

    async def shutdown(self):
        self.note("shutdown")


def plugins_of(**classes):
    return FixedPlugins([], targets=classes, plugin="p")


def make(**fields):
    return type("Made", (Recording,), {"events": [], **fields})


def test_they_start_in_order_and_end_in_reverse():
    events = []
    one, two = (make(events=events, note=lambda _, what, name=name: events.append((name, what))) for name in "ab")

    async def main():
        async with Endpoints() as endpoints:
            found = await endpoints.open(plugins_of(a=one, b=two), [endpoint("a", "/a"), endpoint("b", "/b")], object())
            assert [(mounted.name, mounted.prefix) for mounted in found] == [("a", "/a"), ("b", "/b")]

    asyncio.run(main())
    assert events == [("a", "startup"), ("b", "startup"), ("b", "shutdown"), ("a", "shutdown")]


def test_one_that_does_not_start_stops_the_start_and_those_before_it_end():
    good, bad = make(), make(fails=frozenset({"startup"}))

    async def main():
        async with Endpoints() as endpoints:
            await endpoints.open(plugins_of(good=good, bad=bad), [endpoint("good"), endpoint("bad", "/b")], object())

    with pytest.raises(PluginError, match=r"the endpoint bad \(plugin p\) does not start: OSError: no such thing"):
        asyncio.run(main())
    assert good.events == ["p startup", "p shutdown"]
    assert bad.events == ["p startup"]


def test_one_that_fails_at_its_end_keeps_nobody_from_ending(caplog):
    good, bad = make(), make(fails=frozenset({"shutdown"}))

    async def main():
        async with Endpoints() as endpoints:
            await endpoints.open(plugins_of(good=good, bad=bad), [endpoint("good"), endpoint("bad", "/b")], object())

    with caplog.at_level(logging.ERROR, "kernelet.serve"):
        asyncio.run(main())
    assert good.events[-1] == "p shutdown"
    assert "the endpoint bad failed while it stopped" in caplog.text


async def call(app, kind="http"):
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": f"{kind}.request"}

    await app({"type": kind, "path": "/e/x"}, receive, send)
    return sent


def test_an_application_that_raises_is_a_500_of_that_request(caplog):
    async def app(scope, receive, send):
        raise ValueError("mine")

    sent = asyncio.run(call(Guarded("e", app)))
    assert sent[0]["status"] == 500
    assert b"ValueError" not in sent[1]["body"]
    assert dict(sent[0]["headers"])[b"content-length"] == str(len(sent[1]["body"])).encode()
    assert "the endpoint e failed at /e/x" in caplog.text
    assert asyncio.run(call(Guarded("e", app), "websocket")) == [{"type": "websocket.close", "code": 1011}]


def test_one_that_raises_in_its_answer_cuts_the_connection():
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        asyncio.run(call(Guarded("e", app)))


def test_one_that_is_cancelled_is_cancelled():
    async def app(scope, receive, send):
        await asyncio.sleep(3600)

    async def main():
        task = asyncio.create_task(call(Guarded("e", app)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
