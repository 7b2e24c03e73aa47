from __future__ import annotations

from asgi_calls import get
from scripted_engine import ScriptedEngine


def test_the_document_is_made_once(make_app):
    app = make_app(ScriptedEngine())
    assert app.openapi_schema is None
    found = get(app, "/openapi.json").json()
    made = app.openapi_schema
    assert found == made
    get(app, "/openapi.json")
    assert app.openapi_schema is made
