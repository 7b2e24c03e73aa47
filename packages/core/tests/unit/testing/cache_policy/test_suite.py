from __future__ import annotations

import pytest

from kernelet.cache.eviction import LRUPolicy, lru
from kernelet.contracts.offer import Settings
from kernelet.testing.cache_policy.suite import play, raises
from kernelet.testing.verdict import ConformanceError


def test_play_holds_a_policy_against_a_set():
    play(lru(8), [("add", 1), ("add", 2), ("remove", 1), ("remove", 1), ("evict", 0), ("evict", 0)])

    class Broken(LRUPolicy):
        def __len__(self):
            return 1

    with pytest.raises(ConformanceError, match=r"^after remove\(\), len\(\) must be the number"):
        play(Broken(Settings(plugin="p"), 8), [("add", 1), ("remove", 1)])


def test_raises_is_about_the_kind():
    assert raises(KeyError, lambda: {}[1])
    assert not raises(KeyError, lambda: int("one"))
    assert not raises(KeyError, lambda: None)
