from __future__ import annotations

import asyncio

from asgi_calls import call, post
from scripted_engine import ScriptedEngine

from kernelet_server_openai.middleware.memory import Memory


class Told:
    def __init__(self):
        self.sizes, self.begun = [], 0

    def begin(self):
        self.begun += 1

    def done(self, size):
        self.sizes.append(size)


def test_requests_and_answers_count():
    told = Told()

    async def app(scope, receive, send):
        for _ in range(2):
            await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"123", "more_body": True})
        await send({"type": "http.response.body", "body": b"4"})

    reply = call(Memory(app, told), "POST", "/", body=[b"12345", b"678"])
    assert reply.body == b"1234"
    assert (told.sizes, told.begun) == ([12], 1)


def test_one_that_fails_counts_too():
    told = Told()

    async def app(scope, receive, send):
        await receive()
        raise ZeroDivisionError

    try:
        call(Memory(app, told), "POST", "/", body=b"12345")
    except ZeroDivisionError:
        assert told.sizes == [5]
    else:
        raise AssertionError("it did not fail")


def test_other_kinds_pass():
    told, seen = Told(), []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    asyncio.run(Memory(app, told)({"type": "websocket"}, None, None))
    assert (seen, told.sizes) == (["websocket"], [])


def test_it_is_in_the_application(make_app):
    told = []
    app = make_app(ScriptedEngine())
    app.state.api.large.done = told.append
    body = b'{"prompt": "x"}'
    reply = post(app, "/v1/completions", body=body)
    assert told == [len(body) + len(reply.body)]
