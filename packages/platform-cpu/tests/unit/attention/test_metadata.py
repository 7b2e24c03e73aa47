from __future__ import annotations

import numpy as np
import pytest
import torch

from kernelet.contracts.attention import AttentionBatch
from kernelet_platform_cpu.attention import metadata
from kernelet_platform_cpu.attention.metadata import MAX_PADDING, group_rows, plan_step


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


def test_full_attention_reads_all_blocks_once(spec):
    step = plan([9, 4], [1, 1], spec())
    (group,) = step.decodes
    assert group.tokens is None
    assert (group.rows, group.length) == (2, 9)
    assert blocks_of(group.pages, 2) == [0, 1, 2, 3, 101]
    assert (group.mask[1, 0, 0, 0] == 0).sum() == 4


def test_sliding_attention_reads_the_window_only(spec):
    step = plan([41, 30], [1, 5], spec(window=6))
    (decode,), (chunk,) = step.decodes, step.chunks
    # positions 35..40 lie in blocks 8..10 (ids from 1), positions 20..29 in blocks 5..7
    assert blocks_of(decode.pages, 2) == [9, 10, 11]
    assert blocks_of(chunk.pages, 2) == [106, 107, 108]


def test_no_mask_where_all_is_seen(spec):
    assert plan([7, 7], [1, 1], spec()).decodes[0].mask is None
    assert plan([7, 6], [1, 1], spec()).decodes[0].mask is not None


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


def test_tiles_cover_every_query_once_and_bound_their_scores(spec, monkeypatch):
    monkeypatch.setattr(metadata, "MAX_SCORES", 4 * 100 * 10)
    (chunk,) = plan([100], [90], spec()).chunks
    assert [tile.start for tile in chunk.tiles] == list(range(0, 90, 10))
    assert [tile.stop for tile in chunk.tiles] == list(range(10, 91, 10))
    assert [tile.last_key for tile in chunk.tiles] == list(range(20, 101, 10))
    assert all((tile.mask == 0).sum() == 55 for tile in chunk.tiles)
    monkeypatch.setattr(metadata, "MAX_SCORES", 1)
    assert plan([100], [90], spec()).chunks[0].tiles[0].stop == metadata.MIN_TILE


@pytest.mark.parametrize("seed", range(20))
def test_groups_hold_every_row_once_and_bound_their_padding(seed):
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 3000, size=40)
    rows = np.flatnonzero(random.random(40) < 0.7)
    groups = list(group_rows(rows, lengths))
    assert sorted(np.concatenate(groups)) == sorted(rows)
    for group in groups:
        assert lengths[group].max() * len(group) - lengths[group].sum() <= MAX_PADDING
    assert not list(group_rows(rows[:0], lengths))
