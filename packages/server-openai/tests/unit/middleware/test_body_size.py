from __future__ import annotations

import asyncio

import pytest
from asgi_calls import post
from scripted_engine import ScriptedEngine

from kernelet_server_openai.middleware import body_size
from kernelet_server_openai.middleware.body_size import BodySize, throw_away

PATH = "/v1/completions"
BODY = b'{"prompt": "abc"}'


@pytest.mark.parametrize("limit, status", [(len(BODY), 200), (len(BODY) - 1, 413)])
@pytest.mark.parametrize("stated", [True, False])
def test_the_limit(make_app, limit, status, stated):
    headers = {"content-length": str(len(BODY))} if stated else {}
    for body in (BODY, [BODY[:5], BODY[5:]]):
        reply = post(make_app(ScriptedEngine(), max_request_bytes=limit), PATH, body=body, headers=headers)
        assert reply.status == status
        if status == 413:
            assert reply.error["code"] == "request_too_large"
            assert reply.headers["connection"] == "close"


@pytest.mark.parametrize("length", ["-1", "x", ""])
def test_a_length_that_is_none_is_counted(make_app, length):
    reply = post(make_app(ScriptedEngine(), max_request_bytes=5), PATH, body=BODY, headers={"content-length": length})
    assert reply.status == 413


def client(pieces):
    left = list(pieces)

    async def receive():
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    return left, receive


def test_who_states_too_much_gets_to_read_the_answer():
    for headers, rest in (([], 0), ([(b"expect", b"100-continue")], 3)):
        left, receive = client([b"x" * 10] * 3)
        sent = []

        async def send(message, sent=sent):
            sent.append(message)

        scope = {"type": "http", "headers": [(b"content-length", b"30"), *headers]}
        asyncio.run(BodySize(None, 5)(scope, receive, send))
        assert sent[0]["status"] == 413
        assert len(left) == rest


def test_nobody_is_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(body_size, "LINGER_SECONDS", 0.01)

    async def receive():
        await asyncio.Event().wait()

    asyncio.run(throw_away(receive))
