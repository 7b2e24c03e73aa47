from __future__ import annotations

import pytest
from asgi_calls import call, get
from scripted_engine import ScriptedEngine

from kernelet_server_openai.document import document
from kernelet_server_openai.routes.query import takes

QUERY = "x%0a" * 300 + "=1"
KEY = {"authorization": "Bearer root"}


def test_what_a_route_takes_is_in_the_document(make_app):
    found = document(make_app(ScriptedEngine(), admin_key="root"))["paths"]
    assert [one["name"] for one in found["/sleep"]["post"]["parameters"]] == ["level"]
    assert takes(a={"type": "string"})["parameters"] == [{"name": "a", "in": "query", "schema": {"type": "string"}}]
    one = found["/v1/responses/{response_id}"]
    assert [found["name"] for found in one["get"]["parameters"]] == ["response_id", "stream"]
    assert [found["name"] for found in one["delete"]["parameters"]] == ["response_id"]


def test_every_route_but_probes_refuses_what_it_does_not_take(make_app):
    """Whatever the body is: it is not looked at."""
    app = make_app(ScriptedEngine(), api_key="root", admin_key="other")
    answered = set()
    for path, operations in document(app)["paths"].items():
        for method in operations:
            for key in ("root", "other"):
                headers = {"authorization": f"Bearer {key}"}
                reply = call(app, method.upper(), path, headers=headers, query=QUERY)
                if reply.status != 401:
                    answered.add((path, reply.status, reply.error["param"] if reply.status == 400 else None))
    free = {path for path, status, _ in answered if status != 400}
    assert free == {"/live", "/ready", "/health", "/metrics"}
    assert {param for _, _, param in answered if param is not None} == {("x\n" * 300)[:100]}
    assert get(app, "/v1/models", headers=KEY).status == 200


@pytest.mark.parametrize(
    "query, status", [("", 404), ("stream=false", 404), ("include=x", 400), ("stream=0&after=1", 400)]
)
def test_a_kept_response(make_app, query, status):
    assert get(make_app(ScriptedEngine()), "/v1/responses/resp_1", query=query).status == status
