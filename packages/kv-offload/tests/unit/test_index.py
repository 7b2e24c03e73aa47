from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kernelet.cache.eviction import lru
from kernelet_kv_offload.index import Index

KEYS = st.sampled_from([bytes([key]) for key in range(6)])


def make(slots=2, ranks=1):
    return Index(slots, ranks, lru(slots + 1))


def store(index, *keys):
    """Chunks of one prefix, in order."""
    chunks = [index.take(key) for key in keys]
    for chunk in chunks:
        index.fill(chunk)
    index.unpin(reversed(chunks))


def test_a_chunk_is_found_once_it_is_filled():
    index = make()
    chunk = index.take(b"a")
    assert index.find(b"a") is None
    assert index.holds(b"a")
    index.fill(chunk)
    assert index.find(b"a") is chunk
    index.unpin([chunk])
    assert index.find(b"a") is chunk
    assert not index.holds(b"b")


def test_the_tail_of_a_prefix_goes_first():
    index = make(3)
    store(index, b"a", b"b", b"c")
    store(index, b"d")
    assert index.evictions == 1
    assert [index.find(key) is not None for key in (b"a", b"b", b"c", b"d")] == [True, True, False, True]


def test_pinned_chunks_stay():
    index = make(1)
    store(index, b"a")
    index.pin(index.find(b"a"))
    assert index.take(b"b") is None
    assert not index.holds(b"b")
    index.unpin([index.find(b"a")])
    assert index.take(b"b") is not None
    assert index.find(b"a") is None


def test_a_slot_that_was_not_filled_is_free_again():
    index = make(1)
    index.unpin([index.take(b"a")])
    assert len(index) == 0
    assert index.num_free == 1


def test_the_disk_counts_where_every_rank_has_it():
    index = make(ranks=2)
    index.found(0, [b"a"])
    assert index.find(b"a") is None
    assert not index.holds(b"a")
    index.found(1, [b"a"])
    assert index.find(b"a") is not None
    index.lost(0, [b"a", b"never"])
    assert index.find(b"a") is None
    index.lost(1, [b"a"])
    assert len(index) == 0


def test_a_chunk_that_lost_its_slot_is_still_on_disk():
    index = make(1)
    index.found(0, [b"a"])
    store(index, b"a")
    store(index, b"b")
    assert index.find(b"a").slot == 0
    assert index.find(b"a").ranks == 1


def test_clear_while_something_is_pinned():
    index = make()
    store(index, b"a", b"b")
    chunk = index.find(b"a")
    index.pin(chunk)
    index.found(0, [b"c"])
    index.clear()
    assert [index.find(key) for key in (b"a", b"b", b"c")] == [None] * 3
    assert index.num_free == 1
    store(index, b"a")
    index.unpin([chunk])
    assert index.num_free == 2
    assert index.find(b"a") is not None
    index.check()


class IndexMachine(RuleBasedStateMachine):
    """Chunks come, are pinned, and go, in any order: no slot is ever lost or held twice."""

    @initialize(slots=st.integers(1, 4))
    def start(self, slots):
        self.slots = slots
        self.index = make(slots)
        self.saving, self.pinned = [], []

    @rule(key=KEYS)
    def save(self, key):
        if not self.index.holds(key):
            free = self.index.num_free
            chunk = self.index.take(key)
            assert (chunk is None) == (free == 0)
            if chunk is not None:
                self.saving.append(chunk)

    @precondition(lambda self: self.saving)
    @rule(good=st.booleans(), data=st.data())
    def saved(self, good, data):
        chunk = self.saving.pop(data.draw(st.integers(0, len(self.saving) - 1)))
        if good:
            self.index.fill(chunk)
        self.index.unpin([chunk])

    @rule(key=KEYS)
    def pin(self, key):
        chunk = self.index.find(key)
        if chunk is not None:
            self.index.pin(chunk)
            self.pinned.append((chunk, chunk.slot == 0 and self.index.give_slot(chunk)))

    @precondition(lambda self: self.pinned)
    @rule(good=st.booleans(), data=st.data())
    def unpin(self, good, data):
        chunk, coming = self.pinned.pop(data.draw(st.integers(0, len(self.pinned) - 1)))
        if coming:
            (self.index.fill if good else self.index.leave)(chunk)
        self.index.unpin([chunk])

    @rule(key=KEYS, there=st.booleans())
    def disk(self, key, there):
        (self.index.found if there else self.index.lost)(0, [key])

    @rule()
    def clear(self):
        self.index.clear()

    @invariant()
    def sound(self):
        self.index.check()
        for chunk, _ in self.pinned:
            assert chunk.pins > 0

    def teardown(self):
        if hasattr(self, "index"):
            for chunk in self.saving:
                self.index.unpin([chunk])
            for chunk, coming in self.pinned:
                if coming:
                    self.index.leave(chunk)
                self.index.unpin([chunk])
            self.index.check()
            assert self.index.num_free == self.slots


TestIndexMachine = IndexMachine.TestCase
TestIndexMachine.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
