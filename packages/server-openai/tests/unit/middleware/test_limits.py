from __future__ import annotations

import asyncio

import pytest
from asgi_calls import acall, get, until
from scripted_engine import DONE, ScriptedEngine

from kernelet_server_openai.middleware.limits import Bucket, Limits

PATH = "/v1/completions"


def test_a_bucket_is_full_at_first_and_fills_up_in_a_minute():
    bucket = Bucket(2, 100.0)
    assert [bucket.take(100.0) for _ in range(3)] == [0.0, 0.0, 30.0]
    assert bucket.take(129.0) == pytest.approx(1.0)
    assert bucket.take(130.0) == 0.0
    assert [bucket.take(10_000.0) for _ in range(3)] == [0.0, 0.0, 30.0]


def test_too_many_at_once(make_app):
    async def work():
        go = asyncio.Event()
        engine = ScriptedEngine(go, DONE)
        app = make_app(engine, max_concurrent_requests=2)
        running = [asyncio.ensure_future(acall(app, "POST", PATH, {"prompt": "x"})) for _ in range(2)]
        await until(lambda: engine.running >= 2)
        refused = await acall(app, "POST", PATH, {"prompt": "x"})
        assert (refused.status, refused.error["code"], refused.headers["retry-after"]) == (
            429,
            "too_many_requests",
            "1",
        )
        assert (await acall(app, "GET", "/health")).status == 200
        go.set()
        assert [reply.status for reply in await asyncio.gather(*running)] == [200, 200]
        assert (await acall(app, "POST", PATH, {"prompt": "x"})).status == 200

    asyncio.run(work())


def test_each_key_has_its_own_allowance(make_app):
    app = make_app(ScriptedEngine(), api_key="a,b", requests_per_minute=2)
    replies = [get(app, "/v1/models", headers={"authorization": f"Bearer {key}"}) for key in "aaab"]
    assert [reply.status for reply in replies] == [200, 200, 429, 200]
    assert replies[2].error["code"] == "rate_limit_exceeded"
    assert int(replies[2].headers["retry-after"]) <= 30


def test_an_allowance_comes_back():
    now, statuses = [0.0], []

    async def app(scope, receive, send):
        statuses.append(200)

    async def send(message):
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def work():
        limits = Limits(app, 0, 60, lambda: now[0])
        scope = {"type": "http", "path": "/x", "state": {"key": "a"}}
        for at in (0.0,) * 61 + (1.0, 1.0):
            now[0] = at
            await limits(scope, None, send)

    asyncio.run(work())
    assert statuses == [200] * 60 + [429, 200, 429]


def test_a_request_that_fails_gives_its_place_back(make_app):
    async def work():
        app = make_app(ScriptedEngine(KeyError("x")), max_concurrent_requests=1)
        for _ in range(3):
            assert (await acall(app, "POST", PATH, {"prompt": "x"})).status == 500

    asyncio.run(work())
