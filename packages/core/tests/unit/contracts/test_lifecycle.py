from __future__ import annotations

import dataclasses

import pytest

from kernelet.contracts.lifecycle import ConfigChange, PluginOptions, ProcessRole
from kernelet.contracts.offer import Option


def test_roles_are_their_names():
    assert [str(role) for role in ProcessRole] == ["frontend", "engine", "worker", "helper"]
    assert f"this {ProcessRole.WORKER} process" == "this worker process"


def test_a_plugin_without_options():
    assert dict(PluginOptions().schema) == {}
    assert PluginOptions() == PluginOptions()
    assert PluginOptions(schema={"a": Option(type=int)}).schema["a"].type is int


def test_a_change_is_data():
    change = ConfigChange(path="cache.block_size", value=32, reason="the device")
    assert change == dataclasses.replace(change)
    with pytest.raises(dataclasses.FrozenInstanceError):
        change.value = 64
