from __future__ import annotations

import pytest
from asgi_calls import call, get
from scripted_engine import ScriptedEngine


@pytest.mark.parametrize("path", ["/live", "/ready", "/health", "/v1/models", "/v1/models/null", "/version"])
def test_head_is_get_without_the_body(make_app, path):
    app = make_app(ScriptedEngine())
    full, head = get(app, path), call(app, "HEAD", path)
    assert (full.status, head.status, head.body) == (200, 200, b"")
    assert head.headers["content-length"] == str(len(full.body))


@pytest.mark.parametrize("path, status", [("/ready", 503), ("/v1/models/other", 404), ("/nothing", 404)])
def test_errors_have_no_body_either(make_app, path, status):
    assert call(make_app(ScriptedEngine(state="dead")), "HEAD", path).status == status


def test_head_of_what_is_posted_is_refused(make_app):
    assert call(make_app(ScriptedEngine()), "HEAD", "/v1/completions").status == 405


def test_head_needs_the_key_that_get_needs(make_app):
    app = make_app(ScriptedEngine(), api_key="one")
    assert call(app, "HEAD", "/v1/models").status == 401
    assert call(app, "HEAD", "/live").status == 200
