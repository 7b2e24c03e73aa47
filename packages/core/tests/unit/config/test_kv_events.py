from __future__ import annotations

import dataclasses

import pytest

from kernelet.config.kv_events import KVEventsConfig


def test_it_is_frozen_and_described():
    for field in dataclasses.fields(KVEventsConfig):
        assert f"{field.name}: " in KVEventsConfig.__doc__, f"{field.name} is not described"
    with pytest.raises(dataclasses.FrozenInstanceError):
        KVEventsConfig().topic = "kv"


def test_nothing_is_published_unless_asked():
    assert not KVEventsConfig().enable_kv_cache_events
