from __future__ import annotations

from asgi_calls import get
from scripted_engine import ScriptedEngine

from kernelet.contracts.serving import Exposition


def test_what_stat_loggers_show(make_app):
    engine = ScriptedEngine()
    engine.shown = [
        Exposition(content_type="text/plain; version=1.0.0", body=b"a 1\n"),
        Exposition(content_type="application/json", body=b"{}"),
        Exposition(content_type="text/plain; version=1.0.0", body=b"b 2\n"),
    ]
    reply = get(make_app(engine), "/metrics")
    assert (reply.status, reply.body) == (200, b"a 1\nb 2\n")
    assert reply.headers["content-type"] == "text/plain; version=1.0.0"


def test_nothing_is_shown(make_app):
    reply = get(make_app(ScriptedEngine()), "/metrics")
    assert reply.status == 404
    assert "install" in reply.error["message"]
