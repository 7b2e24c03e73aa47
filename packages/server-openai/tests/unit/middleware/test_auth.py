from __future__ import annotations

import asyncio

import pytest
from asgi_calls import call, get
from scripted_engine import ScriptedEngine

from kernelet_server_openai.middleware.auth import OPEN, Auth, Keys, bearer


def with_key(key):
    return {"authorization": f"Bearer {key}"}


@pytest.mark.parametrize(
    "key, status", [("one", 200), ("two", 200), ("three", 401), ("", 401), ("one ", 200), ("ONE", 401)]
)
def test_several_keys(make_app, key, status):
    reply = get(make_app(ScriptedEngine(), api_key="one,two"), "/v1/models", headers=with_key(key))
    assert reply.status == status
    if status == 401:
        assert reply.error["code"] == "invalid_api_key"
        assert reply.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("headers", [{}, {"authorization": "one"}, {"authorization": "Basic one"}])
def test_no_key(make_app, headers):
    reply = get(make_app(ScriptedEngine(), api_key="one"), "/v1/models", headers=headers)
    assert (reply.status, reply.error["code"]) == (401, "missing_api_key")


def test_probes_need_no_key(make_app):
    app = make_app(ScriptedEngine(), api_key="one")
    assert {get(app, path).status for path in OPEN - {"/metrics"}} == {200}
    for path in ("/plugins", "/openapi.json", "/v1/models/null"):
        assert get(app, path).status == 401


def test_without_keys_whoever_reaches_the_port_may_ask(make_app):
    assert get(make_app(ScriptedEngine()), "/v1/models").status == 200


@pytest.mark.parametrize("path", ["/sleep", "/is_sleeping", "/drain/", "/wake_up", "/reset_prefix_cache"])
def test_admin_routes_do_not_exist_without_a_key_of_their_own(make_app, path):
    engine = ScriptedEngine()
    app = make_app(engine, api_key="one")
    for headers in ({}, with_key("one"), with_key("")):
        assert {call(app, method, path, headers=headers).status for method in ("GET", "POST")} == {404}
    assert not engine.calls


def test_an_api_key_does_not_open_the_admin_routes(make_app):
    app = make_app(ScriptedEngine(), api_key="one", admin_key="root")
    assert get(app, "/is_sleeping", headers=with_key("one")).status == 401
    assert get(app, "/is_sleeping", headers=with_key("root")).status == 200
    assert get(app, "/v1/models", headers=with_key("root")).status == 401
    open_app = make_app(ScriptedEngine(), admin_key="root")
    assert get(open_app, "/is_sleeping").status == 401


def test_every_key_is_looked_at(monkeypatch):
    looked = []
    monkeypatch.setattr("hmac.compare_digest", lambda a, b: looked.append(b) or a == b)
    assert Keys(["a", "b", "c"]).find(b"a") == 0
    assert len(looked) == 3
    assert {len(one) for one in looked} == {32}


def test_the_key_is_noted_by_its_number(make_app):
    reply = get(make_app(ScriptedEngine(), api_key="one,two"), "/v1/models", headers=with_key("two"))
    assert reply.scope["state"]["key"] == "api-1"


def test_websockets_need_a_key_too():
    sent, passed = [], []

    async def app(scope, receive, send):
        passed.append(scope)

    async def send(message):
        sent.append(message)

    auth = Auth(app, ["one"], [])
    asyncio.run(auth({"type": "websocket", "path": "/x", "headers": []}, None, send))
    assert [message["type"] for message in sent] == ["websocket.close"]
    asyncio.run(auth({"type": "websocket", "path": "/x", "headers": [(b"authorization", b"Bearer one")]}, None, send))
    assert len(passed) == 1


def test_the_header_is_read_whatever_its_bytes():
    assert bearer({"headers": [(b"authorization", b"bearer \xff\x00")]}) == b"\xff\x00"
