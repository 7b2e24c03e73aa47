from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.offer import Settings
from kernelet.testing.search import SEARCH
from kernelet_kv_offload.arc import ARCPolicy


class Paper:
    """The algorithm over pages that are hit or missed; room is made before it is known what for."""

    def __init__(self, size):
        self.size, self.p = size, 0.0
        self.t1, self.t2, self.b1, self.b2 = [], [], [], []

    def pages(self):
        return {*self.t1, *self.t2}

    def request(self, page):
        if page in self.pages():
            (self.t1 if page in self.t1 else self.t2).remove(page)
            self.t2.append(page)
            return
        if len(self.pages()) == self.size:
            from_t1 = self.t1 and (len(self.t1) > self.p or not self.t2)
            (self.b1 if from_t1 else self.b2).append((self.t1 if from_t1 else self.t2).pop(0))
        if page in self.b1:
            self.p = min(self.p + max(1, len(self.b2) / len(self.b1)), self.size)
            self.b1.remove(page)
            self.t2.append(page)
        elif page in self.b2:
            self.p = max(self.p - max(1, len(self.b1) / len(self.b2)), 0)
            self.b2.remove(page)
            self.t2.append(page)
        else:
            self.t1.append(page)
        while self.b1 and len(self.t1) + len(self.b1) > self.size:
            self.b1.pop(0)
        while self.b2 and len(self.pages()) + len(self.b1) + len(self.b2) > 2 * self.size:
            self.b2.pop(0)


class Cache:
    """Pages in slots, of which the policy says which goes."""

    def __init__(self, size):
        self.policy = ARCPolicy(Settings(plugin="test"), size + 1)
        self.free, self.slots, self.pages = list(range(size, 0, -1)), {}, {}

    def request(self, page):
        hit = page in self.slots
        if hit:
            slot = self.slots[page]
            self.policy.remove(slot)
        else:
            slot = self.free.pop() if self.free else self.policy.evict()
            self.slots.pop(self.pages.get(slot), None)
            self.slots[page], self.pages[slot] = slot, page
            self.policy.assign(slot, bytes([page]))
        self.policy.add(slot)
        return hit


def test_a_scan_does_not_push_out_what_is_used_again():
    cache = Cache(4)
    for page in (1, 2, 1, 2, *range(10, 40)):
        cache.request(page)
    assert {1, 2} <= set(cache.slots)


def test_the_share_follows_what_comes_back():
    cache = Cache(4)
    for page in (1, 1, 2, 2, 3, 4, 5, 6):  # 3 and 4 went, which were used once
        cache.request(page)
    assert cache.policy._target == 0
    cache.request(3)
    assert cache.policy._target == 1
    assert 3 in cache.slots


@SEARCH
@given(pages=st.lists(st.integers(0, 9), max_size=80), size=st.integers(1, 5))
def test_it_keeps_what_the_paper_keeps(pages, size):
    ours, paper = Cache(size), Paper(size)
    for page in pages:
        assert ours.request(page) == (page in paper.pages())
        paper.request(page)
        assert set(ours.slots) == paper.pages()


def test_memory_of_what_went_is_bounded():
    cache = Cache(3)
    for page in range(200):
        cache.request(page)
    policy = cache.policy
    assert len(policy._once) + len(policy._ghosts_once) <= 3
    assert len(policy) + len(policy._ghosts_once) + len(policy._ghosts_again) <= 6
    assert len(policy._contents) == len(policy) == 3


def test_misuse():
    policy = ARCPolicy(Settings(plugin="test"), 4)
    with pytest.raises(IndexError, match="no block can be evicted"):
        policy.evict()
    with pytest.raises(KeyError):
        policy.remove(1)
