from __future__ import annotations

import dataclasses

import pytest

from kernelet.config.kv import KVTransferConfig


def test_it_is_frozen_and_described():
    for field in dataclasses.fields(KVTransferConfig):
        assert f"{field.name}: " in KVTransferConfig.__doc__, f"{field.name} is not described"
    with pytest.raises(dataclasses.FrozenInstanceError):
        KVTransferConfig().role = "both"


def test_nothing_runs_unless_asked():
    assert KVTransferConfig().connectors == ()
