from __future__ import annotations

import pytest
from asgi_calls import get
from scripted_engine import ScriptedEngine

STATES = {
    "ready": (200, 200),
    "asleep": (503, 200),
    "draining": (503, 200),
    "starting": (503, 503),
    "stalled": (503, 503),
    "dead": (503, 503),
}


@pytest.mark.parametrize("state", STATES)
def test_probes_tell_the_state(make_app, state):
    app = make_app(ScriptedEngine(state=state))
    ready, health = get(app, "/ready"), get(app, "/health")
    assert (ready.status, health.status) == STATES[state]
    assert ready.json() == health.json() == {"status": state, "detail": "why", "age": 1.5}
    assert get(app, "/live").status == 200
