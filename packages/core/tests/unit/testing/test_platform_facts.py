from __future__ import annotations

import pytest

from kernelet.testing.interpreter import call_fresh
from kernelet.testing.platform_facts import config_facts, device_facts

NULL = "kernelet.testing.null.platform"
FAULTS = "kernelet.testing.platform.faults"
VALUES = {"memory_bytes": 1000}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    return str(tmp_path / "empty")


def test_a_platform_that_does_nothing(folder):
    facts = config_facts(f"{NULL}:probe", f"{NULL}:NullConfig", "p", VALUES, folder)
    first, second = facts["answers"]
    assert first == second == {"available": True, "reason": "needs nothing", "priority": -100}
    assert facts["left"] == facts["order"] == []
    assert facts["is_config"]
    assert 0 <= facts["seconds"] < 60


def test_what_a_probe_leaves(folder):
    facts = call_fresh(
        "kernelet.testing.platform_facts:config_facts", f"{FAULTS}:watching", f"{NULL}:NullConfig", "p", VALUES, folder
    )
    assert facts["left"] == ["threads"]


def test_what_is_no_config_is_told(folder, monkeypatch):
    class Strange:
        def __init__(self, settings):
            self.settings = settings

        def capabilities(self):
            return None

        def attention_order(self):
            return ("a",)

    given = {"probe": lambda: None, "config": Strange}
    monkeypatch.setattr("kernelet.testing.platform_facts.import_string", given.get)
    facts = config_facts("probe", "config", "p", VALUES, folder)
    assert not facts["is_config"]
    assert facts["answers"] == [None, None]
    assert facts["order"] == ["a"]


@pytest.mark.parametrize("device, changed", [("TakenAtOnce", ["threads"]), ("MoreFreeThanThereIs", [])])
def test_what_making_a_device_changes(folder, device, changed):
    answer = call_fresh(
        "kernelet.testing.platform_facts:device_facts", f"{FAULTS}:{device}", "p", VALUES, "cpu", folder
    )
    assert answer == {"changed": changed, "made": 2}


def test_torch_state_is_watched(folder, monkeypatch):
    import torch

    class Changes:
        def __new__(cls, settings, rank):
            torch.rand(1)
            return object.__new__(object)

    monkeypatch.setattr("kernelet.testing.platform_facts.import_string", lambda _: Changes)
    assert "torch's generator" in device_facts("x", "p", VALUES, "cpu", folder)["changed"]
