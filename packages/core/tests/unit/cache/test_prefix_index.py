from __future__ import annotations

import pytest

from kernelet.cache.events import BlockRemoved, EventLog
from kernelet.cache.prefix_index import PrefixIndex


def test_one_block_a_key_and_one_key_a_block():
    log = EventLog(enabled=True)
    index = PrefixIndex(2, log)
    assert index.store(b"a", 5)
    assert not index.store(b"a", 6), "another block has this content already"
    assert not index.store(b"a", 5)
    assert index.get(b"a") == 5
    assert index.get(b"b") is None
    assert index.holds(5)
    assert not index.holds(6)
    assert len(index) == 1
    with pytest.raises(ValueError, match="block 5 of group 2 already holds another prefix"):
        index.store(b"b", 5)
    index.remove(5)
    assert index.get(b"a") is None
    assert index.block_ids() == []
    with pytest.raises(KeyError):
        index.remove(5)
    assert log.take() == [BlockRemoved(group=2, key=b"a")]


def test_all_are_forgotten_at_once():
    log = EventLog(enabled=True)
    index = PrefixIndex(0, log)
    index.store(b"a", 5)
    index.store(b"b", 6)
    assert sorted(index.clear()) == [5, 6]
    assert index.get(b"a") is None
    assert not index.holds(6)
    assert log.take() == [], "whoever clears says so, once for all groups"
