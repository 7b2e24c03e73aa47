from __future__ import annotations

import asyncio

import pytest

from kernelet.testing.endpoint.asgi import Call, Exchange, call, scope_of
from kernelet.testing.verdict import ConformanceError

START = {"type": "http.response.start", "status": 201, "headers": [(b"a", b"b")]}


def sends(*messages):
    async def app(scope, receive, send):
        for message in messages:
            await send(message)

    return app


def test_a_scope_is_what_servers_give():
    scope = scope_of(Call(method="POST", path="/x", body=b"12", headers={"X-A": "b"}), "/proxy/e")
    assert (scope["path"], scope["raw_path"], scope["root_path"]) == ("/proxy/e/x", b"/proxy/e/x", "/proxy/e")
    assert dict(scope["headers"]) == {b"host": b"localhost", b"content-length": b"2", b"x-a": b"b"}
    assert (scope["type"], scope["method"], scope["asgi"]["version"]) == ("http", "POST", "3.0")


def test_an_answer_is_put_together():
    part = {"type": "http.response.body", "body": b"x", "more_body": True}
    answer = asyncio.run(call(sends(START, part, {"type": "http.response.body"}), Call(), ""))
    assert (answer.status, answer.headers, answer.body, answer.complete) == (201, {b"a": b"b"}, b"x", True)


@pytest.mark.parametrize(
    "messages, sentence",
    [
        ([], "must be complete"),
        ([START], "must be complete"),
        ([START, START], "one http.response.start"),
        ([{"type": "http.response.body"}], "begins with http.response.start"),
        ([START, {"type": "http.response.body", "body": "text"}], "a body is bytes"),
        ([START, {"type": "http.response.body"}, {"type": "http.response.body"}], "nothing may follow"),
        ([START | {"headers": [("a", "b")]}], "headers are pairs of bytes"),
        ([START | {"headers": [(b"A", b"b")]}], "names in lower case"),
    ],
)
def test_the_protocol(messages, sentence):
    with pytest.raises(ConformanceError, match=sentence):
        asyncio.run(call(sends(*messages), Call(), ""))


def test_an_application_that_raises():
    async def app(scope, receive, send):
        raise OSError("mine")

    with pytest.raises(ConformanceError, match="it does not raise: at GET /x it raised OSError"):
        asyncio.run(call(app, Call(path="/x"), ""))


def test_a_client_that_hangs_up():
    async def main():
        exchange = Exchange(b"body")
        assert await exchange.receive() == {"type": "http.request", "body": b"body", "more_body": False}
        waiting = asyncio.ensure_future(exchange.receive())
        await asyncio.sleep(0)
        assert not waiting.done()
        exchange.hang_up()
        assert await waiting == {"type": "http.disconnect"}
        with pytest.raises(OSError, match="gone"):
            await exchange.send(START)

    asyncio.run(main())
