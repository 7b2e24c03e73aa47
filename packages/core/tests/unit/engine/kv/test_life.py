from __future__ import annotations

import dataclasses

import msgspec
import pytest
from kv_world import Side

from kernelet.config import KVTransferConfig
from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.kv_start import KVStarted
from kernelet.engine.kv import life
from kernelet.engine.kv.life import KVConnection
from kernelet.engine.kv.making import MadeConnectors
from kernelet.errors import PluginError
from kernelet.testing.null.harness import null_engine_config

PLAN = EnginePlan(architecture="A", row="r", dtype="bfloat16", platform="cpu", layers=(), weights_digest="w")
CONFIG = null_engine_config()


class Recorder:
    """Executor and core in one: what was called, in order."""

    def __init__(self):
        self.calls = []
        self.starts = []

    def start_kv_transfer(self, start):
        self.starts.append(start)
        self.calls.append("start")
        return (KVStarted(layouts=()),)

    def __getattr__(self, name):
        return lambda *arguments: self.calls.append(name)


def connection(monkeypatch, **transfer):
    made = MadeConnectors(setup=None, sides=[("p", Side())])
    monkeypatch.setattr(life, "make_connectors", lambda *arguments: made)
    config = dataclasses.replace(CONFIG, kv_transfer=KVTransferConfig(**transfer))
    recorder = Recorder()
    return recorder, KVConnection(config, PLAN, None, recorder, recorder)


def test_they_come_and_go_with_the_memory(monkeypatch):
    recorder, one = connection(monkeypatch, connectors=("a",))
    one.sleep(1)
    one.wake_up()
    assert recorder.calls == ["start", "connect", "sleep", "disconnect", "wake_up", "start", "connect"]
    first, second = recorder.starts
    assert first == second


def test_where_one_cannot_be_made_again_all_sleep_on(monkeypatch):
    """Its server may be gone: who wakes the engine is told, and may try again."""
    recorder, one = connection(monkeypatch, connectors=("a",))
    one.sleep(2)
    fine = life.make_connectors

    def fail(*arguments):
        raise PluginError("its server is gone")

    monkeypatch.setattr(life, "make_connectors", fail)
    with pytest.raises(PluginError, match="its server is gone"):
        one.wake_up()
    monkeypatch.setattr(life, "make_connectors", fine)
    one.wake_up()
    assert recorder.calls[2:] == ["sleep", "disconnect", "wake_up", "start", "sleep", "wake_up", "start", "connect"]


def test_every_engine_has_its_own_name_unless_it_was_given_one(monkeypatch):
    names = {connection(monkeypatch, connectors=("a",))[0].starts[0].engine_id for _ in range(3)}
    assert len(names) == 3
    named = connection(monkeypatch, connectors=("a",), engine_id="me")[0]
    assert named.starts[0].engine_id == "me"


def test_without_connectors_nobody_is_asked(monkeypatch):
    nameless = msgspec.structs.replace(PLAN, weights_digest="")
    monkeypatch.setattr(life, "make_connectors", lambda *arguments: pytest.fail("there are none"))
    recorder = Recorder()
    one = KVConnection(CONFIG, nameless, None, recorder, recorder)
    one.sleep(2)
    one.wake_up()
    assert recorder.calls == ["sleep", "disconnect", "wake_up"]
