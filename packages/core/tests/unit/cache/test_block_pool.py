from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kernelet.cache.block_pool import BlockPool
from kernelet.cache.eviction import LRUPolicy, lru
from kernelet.contracts.offer import Settings


def make(num_blocks=5):
    return BlockPool(num_blocks, lru(num_blocks))


def test_null_block_is_never_given_out():
    pool = make()
    assert sorted(pool.allocate(4)) == [1, 2, 3, 4]
    assert pool.num_free == 0
    assert pool.usage == 1.0
    with pytest.raises(IndexError, match="1 blocks asked for, 0 of 4 left"):
        pool.allocate(1)


def test_all_or_nothing():
    pool = make()
    pool.allocate(2)
    with pytest.raises(IndexError):
        pool.allocate(3)
    assert pool.num_free == 2
    assert pool.usage == 0.5


def test_too_small():
    with pytest.raises(ValueError, match="null block"):
        make(1)


def test_cached_blocks_are_kept_until_they_are_needed():
    pool = make()
    first, second = pool.allocate(2)
    pool.store(b"a", first)
    pool.store(b"b", second)
    pool.release([first, second])
    assert pool.num_free == 4
    assert set(pool.allocate(2)).isdisjoint({first, second}), "free blocks go first"
    assert pool.index.get(b"a") == first
    assert pool.allocate(1) == [second], "the tail goes before the head"
    assert pool.index.get(b"b") is None
    assert pool.index.get(b"a") == first
    pool.check()


def test_touch_brings_a_cached_block_back():
    pool = make()
    (block,) = pool.allocate(1)
    pool.store(b"a", block)
    pool.release([block])
    pool.touch([block])
    pool.touch([0, block])
    assert pool.references(block) == 2
    pool.release([0, block])
    assert pool.references(block) == 1
    assert pool.num_free == 3
    pool.check()


def test_misuse_is_refused():
    pool = make()
    (block,) = pool.allocate(1)
    other = block + 1
    with pytest.raises(ValueError, match="is free"):
        pool.touch([other])
    with pytest.raises(ValueError, match="is not in use"):
        pool.release([other])
    with pytest.raises(ValueError, match="is not in use"):
        pool.store(b"a", other)
    pool.release([block])
    with pytest.raises(ValueError, match="is not in use"):
        pool.release([block])


def test_clear_prefixes():
    pool = make()
    used, cached = pool.allocate(2)
    pool.store(b"a", used)
    pool.store(b"b", cached)
    pool.release([cached])
    pool.clear_prefixes()
    pool.check()
    assert len(pool.index) == 0
    pool.release([used])
    pool.check()
    assert sorted(pool.allocate(4)) == [1, 2, 3, 4]


class GivesUpUsedBlocks(LRUPolicy):
    def evict(self):
        super().evict()
        return 1


def test_a_policy_that_gives_up_used_blocks_is_caught():
    pool = BlockPool(4, GivesUpUsedBlocks(Settings(plugin="p"), 4))
    blocks = pool.allocate(3)
    for block in blocks:
        pool.store(bytes([block]), block)
    pool.release([2])
    with pytest.raises(AssertionError, match="while in use"):
        pool.allocate(1)


class Hears(LRUPolicy):
    def __init__(self, num_blocks):
        super().__init__(Settings(plugin="test"), num_blocks)
        self.heard = []

    def assign(self, block_id, content):
        self.heard.append((block_id, content))


def test_a_policy_hears_what_a_block_holds():
    policy = Hears(4)
    pool = BlockPool(4, policy)
    one, other = pool.allocate(2)
    pool.store(b"a", one)
    pool.store(b"a", other)  # one block has it already
    pool.release([one, other])
    assert policy.heard == [(one, b"a")]


class PoolMachine(RuleBasedStateMachine):
    """Against a plain model: a set of references a block, and a dictionary of prefixes."""

    @initialize(size=st.integers(2, 8))
    def make(self, size):
        self.pool = make(size)
        self.held = []
        self.prefixes = {}
        self.next_key = 0

    @rule(count=st.integers(1, 3))
    def allocate(self, count):
        if count > self.pool.num_free:
            with pytest.raises(IndexError):
                self.pool.allocate(count)
            return
        blocks = self.pool.allocate(count)
        assert not set(blocks) & set(self.held)
        self.held += blocks
        self.prefixes = {key: block for key, block in self.prefixes.items() if block not in blocks}

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data):
        block = data.draw(st.sampled_from(self.held))
        self.held.remove(block)
        self.pool.release([block])

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def store(self, data):
        block = data.draw(st.sampled_from(self.held))
        if block not in self.prefixes.values():
            self.next_key += 1
            key = str(self.next_key).encode()
            assert self.pool.store(key, block)
            self.prefixes[key] = block

    @precondition(lambda self: self.prefixes)
    @rule(data=st.data())
    def touch(self, data):
        block = self.prefixes[data.draw(st.sampled_from(sorted(self.prefixes)))]
        self.pool.touch([block])
        self.held.append(block)

    @rule()
    def clear(self):
        self.pool.clear_prefixes()
        self.prefixes = {}

    @invariant()
    def agrees(self):
        if not hasattr(self, "pool"):
            return
        self.pool.check()
        assert self.pool.num_free == self.pool.num_blocks - 1 - len(set(self.held))
        assert {key: self.pool.index.get(key) for key in self.prefixes} == self.prefixes
        assert len(self.pool.index) == len(self.prefixes)
        assert all(self.pool.references(block) == self.held.count(block) for block in range(1, self.pool.num_blocks))


TestPoolMachine = PoolMachine.TestCase
TestPoolMachine.settings = settings(max_examples=50, stateful_step_count=40)
