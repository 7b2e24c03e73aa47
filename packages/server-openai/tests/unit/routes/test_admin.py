from __future__ import annotations

import pytest
from asgi_calls import call, get, post
from scripted_engine import ScriptedEngine

from kernelet.errors import EngineDeadError, KerneletError

KEY = {"authorization": "Bearer root"}


@pytest.mark.parametrize(
    "path, query, expected",
    [
        ("/sleep", "", ("sleep", 1)),
        ("/sleep", "level=2", ("sleep", 2)),
        ("/wake_up", "", ("wake_up",)),
        ("/reset_prefix_cache", "", ("reset_prefix_cache", False)),
        ("/reset_prefix_cache", "reset_external=true&reset_running_requests=false", ("reset_prefix_cache", True)),
        ("/reset_prefix_cache", "reset_external=1", ("reset_prefix_cache", True)),
        ("/reset_prefix_cache", "reset_external=False", ("reset_prefix_cache", False)),
        ("/drain", "", ("drain",)),
    ],
)
def test_operations_reach_the_engine(make_app, path, query, expected):
    engine = ScriptedEngine()
    reply = post(make_app(engine, admin_key="root"), path, headers=KEY, query=query)
    assert (reply.status, reply.json()) == (200, {"status": "done"})
    assert engine.calls == [expected]


def test_whether_it_sleeps(make_app):
    engine = ScriptedEngine()
    engine.slept = True
    assert get(make_app(engine, admin_key="root"), "/is_sleeping", headers=KEY).json() == {"is_sleeping": True}


@pytest.mark.parametrize("level", ["0", "3", "x", "-1", "1.5", "9" * 100])
def test_a_level_that_is_none(make_app, level):
    reply = post(make_app(ScriptedEngine(), admin_key="root"), "/sleep", headers=KEY, query=f"level={level}")
    assert (reply.status, reply.error["param"]) == (400, "level")


@pytest.mark.parametrize(
    "query, param",
    [
        *[(f"reset_external={value}", "reset_external") for value in ("yes", "", "2", "x" * 100)],
        ("reset_running_requests=true", "reset_running_requests"),
    ],
)
def test_flags_that_are_none_or_not_served(make_app, query, param):
    engine = ScriptedEngine()
    reply = post(make_app(engine, admin_key="root"), "/reset_prefix_cache", headers=KEY, query=query)
    assert (reply.status, reply.error["param"], engine.calls) == (400, param, [])


@pytest.mark.parametrize(
    "path, query, param",
    [
        ("/sleep", "lvl=2", "lvl"),
        ("/sleep", "level=2&mode=wait", "mode"),
        ("/sleep", "level=1&level=2", "level"),
        ("/sleep", "=2", ""),
        ("/wake_up", "tags=weights", "tags"),
        ("/reset_prefix_cache", "external=true", "external"),
        ("/drain", "timeout=5", "timeout"),
    ],
)
def test_a_query_that_nothing_takes_does_nothing(make_app, path, query, param):
    engine = ScriptedEngine()
    reply = post(make_app(engine, admin_key="root"), path, headers=KEY, query=query)
    assert (reply.status, reply.error["param"], engine.calls) == (400, param, [])
    assert reply.error["message"].startswith(f"{param}: ")


@pytest.mark.parametrize("error, status", [(KerneletError("cannot sleep"), 400), (EngineDeadError("stopped"), 503)])
def test_what_cannot_be_done(make_app, error, status):
    engine = ScriptedEngine()
    engine.fails = error
    for path in ("/sleep", "/wake_up", "/reset_prefix_cache", "/drain"):
        reply = call(make_app(engine, admin_key="root"), "POST", path, headers=KEY)
        assert (reply.status, reply.error["message"]) == (status, str(error))
