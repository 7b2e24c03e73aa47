from __future__ import annotations

from kernelet_server_openai.protocol.operation import Health, Plugins


def test_plugins_show_whatever_the_engine_says():
    assert Plugins(plugins=[], digest="x").model_dump() == {"plugins": [], "digest": "x"}


def test_health_has_a_state():
    assert Health(status="ready").model_dump() == {"status": "ready", "detail": "", "age": 0.0}
