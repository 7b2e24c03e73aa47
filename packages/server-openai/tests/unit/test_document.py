from __future__ import annotations

import json
import re

from scripted_engine import ScriptedEngine

from kernelet_server_openai.document import document

PATHS = {
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/responses/{response_id}",
    "/v1/responses/{response_id}/cancel",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/models",
    "/v1/models/{name}",
    "/pooling",
    "/tokenize",
    "/detokenize",
    "/live",
    "/ready",
    "/health",
    "/metrics",
    "/version",
    "/plugins",
    "/kv_event_sources",
}
ADMIN = {"/sleep", "/wake_up", "/is_sleeping", "/reset_prefix_cache", "/drain"}


def test_every_route_is_in_it(make_app):
    assert set(document(make_app(ScriptedEngine()))["paths"]) == PATHS
    assert set(document(make_app(ScriptedEngine(), admin_key="root"))["paths"]) == PATHS | ADMIN


def test_every_schema_that_is_named_is_there(make_app):
    found = document(make_app(ScriptedEngine()))
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(found)))
    assert named == named & set(found["components"]["schemas"])
    assert "ChatCompletionRequest" in named
