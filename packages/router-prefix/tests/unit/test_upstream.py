from __future__ import annotations

import asyncio

import httpx
import pytest

from kernelet_router_prefix.fleet import Engine
from kernelet_router_prefix.settings import RouterSettings
from kernelet_router_prefix.upstream import UnusableError, Upstream, described


def ask(engines, work, **fields):
    """Runs ``work(upstream, engine)``."""
    settings = RouterSettings(engines={"engine": ("http://a",)}, **fields)

    async def run():
        upstream, engine = (
            Upstream(settings, httpx.MockTransport(engines.handle)),
            Engine("http://a", "engine", up=True),
        )
        try:
            return engine, await work(upstream, engine)
        finally:
            await upstream.close()

    return asyncio.run(run())


def test_headers_of_one_connection_are_not_passed_on(engines):
    engines.set("a", "/x", (200, {"b": 1}))
    sent = [
        ("authorization", "Bearer k"),
        ("host", "me"),
        ("content-length", "9"),
        ("accept-encoding", "br"),
        ("x-a", "1"),
    ]

    async def work(upstream, engine):
        async with upstream.open(engine, "POST", "/x", sent, b"body") as response:
            assert engine.open == 1
            await response.aread()
            return response.json()

    engine, found = ask(engines, work)
    assert (found, engine.open, engine.requests) == ({"b": 1}, 0, 1)
    (_, _, body, headers) = engines.asked[0]
    assert (body, headers["authorization"], headers["x-a"]) == (b"body", "Bearer k", "1")
    assert (headers["host"], headers["content-length"], headers["accept-encoding"]) == ("a", "4", "identity")


@pytest.mark.parametrize("answer", [httpx.ConnectError("refused"), httpx.ReadTimeout(""), (503, {"error": "draining"})])
def test_an_engine_that_cannot_be_used(engines, answer):
    engines.set("a", "/x", answer)

    async def work(upstream, engine):
        with pytest.raises(UnusableError) as caught:
            async with upstream.open(engine, "POST", "/x", (), b""):
                raise AssertionError("it was opened")
        return caught.value.answer

    engine, found = ask(engines, work)
    assert engine.open == 0
    assert engine.up is (found is not None)


def test_how_an_engine_is_looked_at(engines):
    async def work(upstream, engine):
        return await upstream.look(engine)

    assert ask(engines, work)[1] == ""
    assert [path for _, path, _, _ in engines.asked] == ["/ready", "/health"]
    for answer, expected in (((503, {}), "/health says 503"), (httpx.ReadTimeout(""), "it does not answer in time")):
        engines.set("a", "/health", answer)
        assert ask(engines, work)[1] == expected
    assert "authorization" not in engines.asked[0][3]
    engines.set("a", "/ready", (503, {}))
    assert ask(engines, work)[1] == "/ready says 503"


def test_what_the_router_asks_itself_has_its_own_key(engines):
    engines.set("a", "/tokenize", (200, {"tokens": [1, 2]}))

    async def work(upstream, engine):
        return await upstream.tokens(engine, {"prompt": "x"})

    assert ask(engines, work, api_key="secret")[1] == [1, 2]
    assert engines.asked[0][3]["authorization"] == "Bearer secret"


@pytest.mark.parametrize("answer", [(404, {}), (200, {}), (200, [1]), (200, {"tokens": ["a"]}), httpx.ConnectError("")])
def test_tokens_that_nobody_tells(engines, answer):
    engines.set("a", "/tokenize", answer)

    async def work(upstream, engine):
        return await upstream.tokens(engine, {"prompt": "x"})

    assert ask(engines, work)[1] is None


def test_where_events_are(engines):
    async def work(upstream, engine):
        return await upstream.event_sources(engine)

    assert ask(engines, work)[1] == {}, "an engine that has no such path"
    engines.set("a", "/kv_event_sources", (200, {"0": {}}))
    assert ask(engines, work)[1] == {"0": {}}
    engines.set("a", "/kv_event_sources", (500, {}))
    with pytest.raises(httpx.HTTPError):
        ask(engines, work)


def test_an_error_in_words():
    assert described(httpx.ConnectError("")) == "ConnectError"
    assert described(httpx.ConnectError("refused")) == "refused"
