from __future__ import annotations

import dataclasses

import pytest

from kernelet.config.kv import KVEventsConfig, KVTransferConfig


def test_it_is_frozen_and_described():
    for kind in (KVTransferConfig, KVEventsConfig):
        for field in dataclasses.fields(kind):
            assert f"{field.name}: " in kind.__doc__, f"{kind.__name__}.{field.name} is not described"
    with pytest.raises(dataclasses.FrozenInstanceError):
        KVTransferConfig().role = "both"


def test_nothing_runs_unless_asked():
    assert KVTransferConfig().connectors == ()
    assert not KVEventsConfig().enabled
