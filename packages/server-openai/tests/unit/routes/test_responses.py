from __future__ import annotations

import pytest
from asgi_calls import call, get, post
from scripted_engine import ScriptedEngine

PATH = "/v1/responses"


@pytest.fixture
def app(make_app):
    return make_app(ScriptedEngine())


def test_a_life(app):
    made = post(app, PATH, {"input": "hi"}).json()
    one = f"{PATH}/{made['id']}"
    assert get(app, one).json() == made
    assert call(app, "DELETE", one).json() == {"id": made["id"], "object": "response", "deleted": True}
    assert get(app, one).status == 404


@pytest.mark.parametrize("method, path", [("GET", ""), ("DELETE", ""), ("POST", "/cancel")])
def test_what_is_not_there(app, make_app, method, path):
    reply = call(app, method, f"{PATH}/resp_none{path}")
    assert (reply.status, reply.error["param"], reply.error["code"]) == (404, "response_id", "response_not_found")
    nothing = make_app(ScriptedEngine(), response_store_bytes=0)
    assert call(nothing, method, f"{PATH}/resp_none{path}").error["code"] == "not_stored"


def test_what_was_kept_is_not_streamed(app):
    made = post(app, PATH, {"input": "hi"}).json()
    assert get(app, f"{PATH}/{made['id']}", query="stream=true").error["param"] == "stream"
    assert get(app, f"{PATH}/{made['id']}", query="stream=false").status == 200


def test_a_number_that_is_none_is_refused(app):
    body = b'{"input": "hi", "temperature": 1e999, "background": true}'
    reply = call(app, "POST", PATH, body=body)
    assert (reply.status, reply.error["param"]) == (400, "temperature")
