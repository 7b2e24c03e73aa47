from __future__ import annotations

import pytest
from asgi_calls import post
from scripted_engine import ScriptedEngine

from kernelet_server_openai.serving import body as module

CHAT = "/v1/chat/completions"


@pytest.mark.parametrize(
    "kind, status",
    [
        ("application/json", 404),
        ("application/json; charset=utf-8", 404),
        ("application/vnd.x+json", 404),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("", 415),
    ],
)
def test_only_json_is_read(make_app, kind, status):
    content = {"model": "other", "messages": [{}]}
    reply = post(make_app(ScriptedEngine()), CHAT, content, headers={"content-type": kind})
    assert reply.status == status
    assert reply.error["type"] == "invalid_request_error"


def test_a_model_that_is_not_served(make_app):
    reply = post(make_app(ScriptedEngine(), "a", "b"), CHAT, {"model": "c", "messages": [{}]})
    assert (reply.status, reply.error["code"]) == (404, "model_not_found")


def test_a_body_in_pieces(make_app):
    reply = post(make_app(ScriptedEngine()), CHAT, body=[b'{"messages"', b": [{}]", b"}"])
    assert reply.status == 200


def test_a_body_that_does_not_come(make_app, monkeypatch):
    monkeypatch.setattr(module, "BODY_SECONDS", 0.05)
    reply = post(make_app(ScriptedEngine()), CHAT, body=[b"{", None])
    assert (reply.status, reply.headers["connection"]) == (408, "close")
    assert reply.error["type"] == "invalid_request_error"
