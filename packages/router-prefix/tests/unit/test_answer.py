from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from kernelet_router_prefix.answer import Answer, relay
from kernelet_router_prefix.errors import RouterError


def call(work, *, leaves=False):
    """Runs an answer; the client goes away once something was asked of it, if ``leaves``."""
    sent = []

    async def receive():
        if not leaves:
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    async def run():
        await asyncio.wait_for(Answer(work)({"type": "http"}, receive, send), 60)

    asyncio.run(run())
    return sent


def test_a_client_that_goes_away_ends_the_work():
    ended = []

    async def work(send):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    assert call(work, leaves=True) == []
    assert ended == [True]


def test_an_error_before_anything_was_sent_is_the_answer():
    async def work(send):
        raise RouterError(503, "nobody is there", "no_engine")

    start, body = call(work)
    assert start["status"] == 503
    assert (b"content-type", b"application/json") in start["headers"]
    assert json.loads(body["body"])["error"]["message"] == "nobody is there"


def test_another_error_is_raised():
    async def work(send):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        call(work)


def response(parts, **headers):
    async def content():
        for part in parts:
            if isinstance(part, Exception):
                raise part
            yield part

    request = httpx.Request("POST", "http://a/x")
    return httpx.Response(200, headers=headers, content=content(), request=request)


def test_an_answer_is_relayed_as_it_comes():
    async def work(send):
        await relay(send, response([b"a", b"b"], **{"content-type": "x/y", "connection": "close", "x-request-id": "7"}))

    start, *parts = call(work)
    assert dict(start["headers"]) == {b"content-type": b"x/y", b"x-request-id": b"7"}
    assert [(part["body"], part.get("more_body", False)) for part in parts] == [
        (b"a", True),
        (b"b", True),
        (b"", False),
    ]


def test_a_stream_that_breaks_off_ends_with_an_error():
    parts = [b"data: 1\n\nda", b"ta: 2\n", b"\ndata: half of", httpx.ReadError("lost")]

    async def work(send):
        await relay(send, response(parts, **{"content-type": "text/event-stream"}))

    body = b"".join(part["body"] for part in call(work)[1:])
    first, second, error, done = body.decode().strip().split("\n\n")
    assert (first, second, done) == ("data: 1", "data: 2", "data: [DONE]")
    assert json.loads(error.removeprefix("data: "))["error"]["message"] == "the engine broke off: lost"


def test_a_stream_loses_nothing():
    async def work(send):
        await relay(send, response([b"data: 1\n\nx", b"y"], **{"content-type": "text/event-stream; charset=utf-8"}))

    assert [part["body"] for part in call(work)[1:]] == [b"data: 1\n\n", b"xy", b""]


def test_another_answer_that_breaks_off_ends_with_its_connection():
    async def work(send):
        await relay(send, response([b"{", httpx.ReadError("lost")], **{"content-type": "application/json"}))

    with pytest.raises(httpx.ReadError):
        call(work)
