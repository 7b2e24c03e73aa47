from __future__ import annotations

import pytest
from asgi_calls import call, get, post
from scripted_engine import ScriptedEngine

from kernelet_server_openai.middleware.errors import handlers
from kernelet_server_openai.protocol.errors import ApiError


@pytest.mark.parametrize(
    "method, path, status",
    [("GET", "/nothing", 404), ("GET", "/v1/completions", 405), ("POST", "/live", 405), ("GET", "/docs", 404)],
)
def test_errors_of_the_framework_have_the_same_shape(make_app, method, path, status):
    reply = call(make_app(ScriptedEngine()), method, path)
    assert (reply.status, reply.headers["content-type"]) == (status, "application/json")
    assert reply.error["type"] == "invalid_request_error"
    assert (reply.headers.get("allow") is not None) == (status == 405)


def test_an_error_inside_is_one_of_that_request_only(make_app):
    class Broken(ScriptedEngine):
        def info(self):
            raise KeyError("secret")

    app = make_app(Broken())
    with pytest.raises(KeyError):  # for the log of the process; the answer was sent before
        get(app, "/plugins")
    assert get(app, "/live").status == 200


def test_headers_of_an_error(make_app):
    class Dead(ScriptedEngine):
        async def metrics(self):
            raise ApiError(503, "later", headers={"retry-after": "5"})

    reply = get(make_app(Dead()), "/metrics")
    assert (reply.status, reply.headers["retry-after"]) == (503, "5")


def test_every_error_has_a_handler():
    assert Exception in handlers()
    assert ApiError in handlers()


def test_the_message_of_a_wrong_body(make_app):
    reply = post(make_app(ScriptedEngine()), "/v1/completions", {"prompt": "x", "other": 1})
    assert reply.error["message"] == "other: nothing takes this field here: leave it out"
