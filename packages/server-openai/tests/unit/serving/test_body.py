from __future__ import annotations

import gzip
import threading

import pytest
from asgi_calls import post
from scripted_engine import ScriptedEngine

from kernelet_server_openai.protocol.base import read_fields
from kernelet_server_openai.serving import body as module
from kernelet_server_openai.serving.large import LARGE

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
    reply = post(make_app(ScriptedEngine()), CHAT, body=[b'{"messages"', b': [{"role": "user", "content": ""}]', b"}"])
    assert reply.status == 200


def test_a_body_that_does_not_come(make_app, monkeypatch):
    monkeypatch.setattr(module, "BODY_SECONDS", 0.05)
    reply = post(make_app(ScriptedEngine()), CHAT, body=[b"{", None])
    assert (reply.status, reply.headers["connection"]) == (408, "close")
    assert reply.error["type"] == "invalid_request_error"


@pytest.mark.parametrize("coding", ["gzip", "br, gzip", "GZIP"])
def test_a_body_that_is_encoded(make_app, coding):
    headers = {"content-encoding": coding, "content-type": "application/json"}
    reply = post(make_app(ScriptedEngine()), CHAT, body=gzip.compress(b"{}"), headers=headers)
    assert (reply.status, reply.headers["accept-encoding"]) == (415, "identity")
    assert "send JSON as it is" in reply.error["message"]
    headers["content-encoding"] = "identity"
    assert post(make_app(ScriptedEngine()), CHAT, body=b"{}", headers=headers).status == 400


@pytest.mark.parametrize("extra, is_large", [(0, False), (LARGE, True)])
def test_a_large_body_is_read_on_another_thread(make_app, monkeypatch, extra, is_large):
    threads = []

    def read(kind, *arguments):
        threads.append(threading.current_thread())
        return read_fields(kind, *arguments)

    monkeypatch.setattr(module, "read_fields", read)
    content = {"messages": [{"role": "user", "content": "x" * extra}], "max_tokens": 1}
    assert post(make_app(ScriptedEngine()), CHAT, content).status == 200
    assert [thread is not threading.current_thread() for thread in threads] == [is_large]


def test_a_context_that_holds_more_may_be_asked_for(make_app, monkeypatch):
    engine = ScriptedEngine()
    monkeypatch.setattr(module, "MAX_IDS", 63)
    body = {"prompt": [1] * 64}
    assert post(make_app(engine), "/v1/completions", body).status == 200
    assert post(make_app(engine), "/v1/completions", {"prompt": [1] * 65}).error["param"] == "prompt"
    assert len(engine.asked) == 1
