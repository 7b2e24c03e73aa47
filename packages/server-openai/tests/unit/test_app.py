from __future__ import annotations

import pytest
from asgi_calls import call, get, post
from scripted_engine import ScriptedEngine

from kernelet.contracts.serving import MountedEndpoint

ORIGIN = {"origin": "https://page.example"}


def make_endpoint(seen):
    async def app(scope, receive, send):
        seen.append((scope["path"], scope["root_path"]))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"mine"})

    return MountedEndpoint(name="console", prefix="/console", app=app)


def test_an_endpoint_gets_what_is_below_its_prefix(make_app):
    seen = []
    app = make_app(ScriptedEngine(), endpoints=(make_endpoint(seen),))
    assert get(app, "/console/a/b").body == b"mine"
    assert seen == [("/console/a/b", "/console")]
    assert get(app, "/consolex").status == 404
    assert get(app, "/live").status == 200


def test_an_endpoint_is_behind_the_keys(make_app):
    app = make_app(ScriptedEngine(), endpoints=(make_endpoint([]),), api_key="one")
    assert get(app, "/console/").status == 401
    assert get(app, "/console/", headers={"authorization": "Bearer one"}).status == 200


def test_pages_of_other_origins_may_ask_where_the_operator_says_so(make_app):
    app = make_app(ScriptedEngine(), allowed_origins="https://page.example", api_key="one")
    asked = call(
        app,
        "OPTIONS",
        "/v1/models",
        headers={**ORIGIN, "access-control-request-method": "GET", "access-control-request-headers": "authorization"},
    )
    assert asked.status == 200
    assert asked.headers["access-control-allow-origin"] == ORIGIN["origin"]
    refused = get(app, "/v1/models", headers=ORIGIN)
    assert (refused.status, refused.headers["access-control-allow-origin"]) == (401, ORIGIN["origin"])
    other = get(app, "/live", headers={"origin": "https://other.example"})
    assert "access-control-allow-origin" not in other.headers


def test_nobody_is_told_of_other_origins_otherwise(make_app):
    reply = get(make_app(ScriptedEngine()), "/live", headers=ORIGIN)
    assert not [name for name in reply.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "path", ["/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/pooling", "/tokenize", "/detokenize"]
)
def test_every_route_has_its_answer_behind_the_limits(make_app, path):
    app = make_app(ScriptedEngine(), max_request_bytes=3)
    assert post(app, path, {"a": 1}).status == 413
    assert post(app, path, {}).status == 400


def test_an_endpoint_gets_its_prefix_itself(make_app):
    seen = []
    app = make_app(ScriptedEngine(), endpoints=(make_endpoint(seen),))
    assert get(app, "/console").body == b"mine"
    assert call(app, "POST", "/console/").body == b"mine"
    assert seen == [("/console", "/console"), ("/console/", "/console")]


@pytest.mark.parametrize("method, path", [("POST", "/v1/completions/"), ("GET", "/v1/models/"), ("GET", "/live/")])
def test_nobody_is_sent_elsewhere(make_app, method, path):
    """The Host header would say where."""
    reply = call(make_app(ScriptedEngine()), method, path, headers={"host": "evil.example"})
    assert (reply.status, reply.error["type"]) == (404, "invalid_request_error")
    assert "location" not in reply.headers
