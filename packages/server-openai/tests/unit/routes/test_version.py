from __future__ import annotations

from importlib import metadata

from asgi_calls import get
from scripted_engine import ScriptedEngine


def test_the_version_is_the_cores(make_app):
    assert get(make_app(ScriptedEngine()), "/version").json() == {"version": metadata.version("kernelet-core")}


def test_what_runs_here(make_app):
    assert get(make_app(ScriptedEngine()), "/plugins").json() == {"plugins": ["one"], "plan": {"value": 1}}


def test_an_engine_can_always_be_shown(make_app, engine):
    assert get(make_app(engine), "/plugins").json()["plan"]["platform"] == "null"
