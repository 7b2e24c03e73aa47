from __future__ import annotations

import numpy as np
import pytest
import torch

from kernelet.contracts.attention import AttentionBatch
from kernelet_platform_cpu.attention.metadata import QUERIES, plan_step, span_keys


def batch(lengths, counts, block_size=4):
    """Request i owns blocks 100 i + 1, 100 i + 2, ..."""
    tables = [[100 * i + b + 1 for b in range(-(-n // block_size))] for i, n in enumerate(lengths)]
    width = max(map(len, tables))
    slots = [
        tables[i][p // block_size] * block_size + p % block_size
        for i, (n, c) in enumerate(zip(lengths, counts, strict=True))
        for p in range(n - c, n)
    ]
    return AttentionBatch(
        query_start_loc=np.cumsum([0, *counts]).astype(np.int32),
        seq_lens=np.array(lengths, dtype=np.int32),
        block_table=np.array([t + [0] * (width - len(t)) for t in tables], dtype=np.int32),
        slot_mapping=np.array(slots, dtype=np.int64),
    )


def plan(lengths, counts, spec):
    return plan_step(batch(lengths, counts), spec, torch.float64)


def blocks_of(pages, heads):
    return sorted(set((pages // (2 * heads)).tolist()))


def test_full_attention_reads_all_blocks_and_fills_a_span_with_the_null_block(spec):
    first, second = plan([70, 4], [1, 1], spec()).parts
    assert blocks_of(first.pages, 2) == [0, *range(1, 19)]
    assert blocks_of(second.pages, 2) == [0, 101]
    assert len(first.pages) == 2 * len(second.pages) == 2 * (2 * 2 * 16)


def test_sliding_attention_reads_the_spans_of_the_window_only(spec):
    (part,) = plan([200], [1], spec(window=6)).parts
    # position 199 lies in tile 192..207, which sees 187 and on: spans 128..191 and 192..255
    assert blocks_of(part.pages, 2) == [0, *range(33, 51)]
    assert (part.tiles[0].first, part.tiles[0].last) == (0, 2)


def test_pages_are_by_part_span_head_and_block(spec):
    (part,) = plan([70], [1], spec()).parts
    pages = part.pages.view(2, 2, 2, 16)
    assert pages[1, 0, 1, 3] == 4 * 4 + 2 + 1  # the fourth block is number 4; of its four pages the values of head 1
    assert pages[0, 1, 0, 1] == 18 * 4


def test_fresh_blocks_are_begun_and_not_filled(spec):
    assert plan([5], [1], spec()).fresh.tolist() == [2]
    assert plan([6], [1], spec()).fresh is None
    assert plan([4], [4], spec()).fresh is None
    assert plan([10], [10], spec()).fresh.tolist() == [3]
    assert plan([10, 1, 12], [2, 1, 3], spec()).fresh.tolist() == [3, 101]


def test_rows_to_write_are_key_and_value_of_every_head(spec):
    """The cache is [block, key or value, head, token]."""
    step = plan([6], [3], spec())
    rows = step.rows.view(3, 2, 2)
    for token, (block, offset) in enumerate([(1, 3), (2, 0), (2, 1)]):
        for part in range(2):
            for head in range(2):
                assert rows[token, part, head] == ((block * 2 + part) * 2 + head) * 4 + offset


@pytest.mark.parametrize("window", [None, 1, 7, 100])
@pytest.mark.parametrize("length, count", [(1, 1), (16, 16), (17, 1), (100, 90), (130, 3), (64, 1), (65, 1)])
def test_every_query_sees_its_keys_once(spec, window, length, count):
    one = spec(window=window)
    (part,) = plan([length], [count], one).parts
    keys = span_keys(one)
    total = -(-length // keys)
    gathered = len(part.pages) // (2 * one.num_kv_heads * keys // one.block_size)
    found = []
    for tile in part.tiles:
        place = (total - gathered) * keys
        low, high = tile.first * keys + place, tile.last * keys + place
        allowed = np.zeros((QUERIES, high - low), dtype=bool)
        allowed[:, : high - low - tile.mask.shape[1] * keys] = True
        allowed[:, high - low - tile.mask.shape[1] * keys :] = (tile.mask == 0).reshape(QUERIES, -1).numpy()
        mine = allowed[tile.row : tile.row + tile.stop - tile.start]
        found += [set((np.flatnonzero(row) + low).tolist()) for row in mine]
    lowest = [0 if window is None else max(0, p - window + 1) for p in range(length)]
    assert found == [set(range(lowest[p], p + 1)) for p in range(length - count, length)]
    assert [tile.start for tile in part.tiles][1:] == [tile.stop for tile in part.tiles][:-1]


def test_a_tile_is_the_same_whatever_the_step_has_of_it(spec):
    one = spec(window=30)
    whole = plan([160], [160], one).parts[0].tiles
    for length in (97, 112):
        (tile,) = plan([length], [1], one).parts[0].tiles
        other = whole[(length - 1) // QUERIES]
        assert torch.equal(tile.mask, other.mask)
        assert tile.last - tile.first == other.last - other.first
        assert tile.row == (length - 1) % QUERIES


@pytest.mark.parametrize("block_size", [1, 4, 5, 16, 128, 192])
def test_spans_are_whole_blocks_and_whole_tiles(spec, block_size):
    keys = span_keys(spec(block_size=block_size))
    assert keys % block_size == 0
    assert keys % 64 == 0
