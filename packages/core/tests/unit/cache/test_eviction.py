from __future__ import annotations

import pytest

from kernelet.cache.eviction import LRUPolicy, lru


def test_oldest_release_goes_first():
    policy = lru(5)
    assert isinstance(policy, LRUPolicy)
    assert policy.num_blocks == 5
    for block in (3, 1, 2):
        policy.add(block)
    policy.remove(1)
    policy.add(1)
    assert [policy.evict() for _ in range(3)] == [3, 2, 1]
    assert len(policy) == 0


def test_nothing_to_give():
    with pytest.raises(IndexError, match="no block"):
        lru(5).evict()
    with pytest.raises(KeyError):
        lru(5).remove(1)
