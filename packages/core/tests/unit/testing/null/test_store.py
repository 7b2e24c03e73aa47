from __future__ import annotations

import pytest

from kernelet.contracts.cache import CacheGroup, FullAttentionSpec, SlidingWindowSpec
from kernelet.testing.null.store import GroupStore, PlanError
from kernelet.testing.null.tokens import digests

COMMON = {"block_size": 4, "page_bytes": 64, "num_kv_heads": 1, "head_size": 1, "dtype": "float64"}
TOKENS = digests(range(10))


def make(window=None):
    spec = FullAttentionSpec(**COMMON) if window is None else SlidingWindowSpec(window=window, **COMMON)
    return GroupStore(CacheGroup(spec=spec, layers=("a",), num_blocks=6))


def test_reads_what_was_written_in_any_pieces():
    store, table = make(), [5, 2, 4]
    for start, end in ((0, 3), (3, 9), (9, 10)):
        store.write(table, start, TOKENS[start:end])
    store.verify(table, 0, TOKENS)
    store.verify(table, 3, TOKENS[3:7])


@pytest.mark.parametrize("table, position", [([2, 5, 4], 0), ([5, 4, 2], 4), ([5, 2, 1], 8)])
def test_wrong_blocks_are_found(table, position):
    store = make()
    store.write([5, 2, 4], 0, TOKENS)
    with pytest.raises(PlanError, match=f"attention at position {position} reads block {table[position // 4]}"):
        store.verify(table, 0, TOKENS)


def test_equal_tokens_after_another_prefix_are_found():
    store = make()
    store.write([1, 2], 0, digests([7, 7, 7, 7, 9, 9, 9, 9]))
    with pytest.raises(PlanError, match="position 4"):
        store.verify([1, 2], 4, digests([8, 7, 7, 7, 9, 9, 9, 9])[4:])


def test_never_written():
    with pytest.raises(PlanError, match="10 of 10 positions are wrong"):
        make().verify([1, 2, 3], 0, TOKENS)


@pytest.mark.parametrize(
    "table, text",
    [([1, 2], "need 3 blocks, the table has 2"), ([1, 0, 2], "use block 0"), ([1, 6, 2], "use block 6 of 6")],
)
def test_tables_that_cannot_be(table, text):
    with pytest.raises(PlanError, match=text):
        make().write(table, 0, TOKENS)


def test_dropped_blocks_outside_what_is_read():
    make().write([0, 0, 3], 8, TOKENS[8:])


@pytest.mark.parametrize("window, position, first", [(None, 9, 0), (1, 9, 9), (4, 9, 6), (4, 2, 0)])
def test_first_seen(window, position, first):
    assert make(window).first_seen(position) == first
