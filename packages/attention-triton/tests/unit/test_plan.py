from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.attention import AttentionBatch
from kernelet.testing.attention.trees import masks_of
from kernelet_attention_triton.configurations import SHORT
from kernelet_attention_triton.plan import RecordedMetadata, StepMetadata


def batch_of(requests):
    counts, before = np.array([c for c, _ in requests], dtype=np.int64), np.array([b for _, b in requests])
    return AttentionBatch(
        query_start_loc=np.concatenate(([0], np.cumsum(counts))).astype(np.int32),
        seq_lens=(counts + before).astype(np.int32),
        block_table=np.zeros((len(requests), 3), dtype=np.int32),
        slot_mapping=np.arange(counts.sum(), dtype=np.int64),
    )


@given(
    requests=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 90)), min_size=1, max_size=6),
    queries=st.sampled_from([1, 2, 5, 16]),
)
def test_each_token_is_in_one_tile_at_its_position(requests, queries):
    batch = batch_of(requests)
    step = StepMetadata(batch, torch.device("cpu"))
    found = []
    for tiles, is_short in ((step.short(queries), True), (step.long(queries), False)):
        mine = [sum(one) for one in requests if one[0] and (one[0] <= SHORT) == is_short]
        assert (tiles is None) == (not mine)
        if tiles is None:
            continue
        assert tiles.longest == max(mine)
        assert tiles.most == tiles.table[:, 2].max()
        for row, first, count, position, tree, lowest in tiles.table.tolist():
            assert (tree, lowest) == (int(batch.seq_lens[row]), position)
            assert 1 <= count <= queries
            found += [(first + index, row, position + index) for index in range(count)]
    wanted = []
    for row, (count, before) in enumerate(requests):
        start = int(batch.query_start_loc[row])
        wanted += [(start + index, row, before + index) for index in range(count)]
    assert sorted(found) == wanted


def test_tiles_are_made_once():
    step = StepMetadata(batch_of([(1, 4), (30, 0)]), torch.device("cpu"))
    assert step.short(4) is step.short(4)
    assert step.long(4) is not step.long(8)


def test_tiles_know_the_tree_and_where_a_window_begins():
    """Of a request of 9 tokens before, one more, and a tree whose last tokens are shallow."""
    parents = (-1, 0, 1, -1, -1)
    batch = replace(
        batch_of([(2, 0), (6, 9)]),
        tree_sizes=np.array([0, 5], dtype=np.int32),
        tree_masks=np.concatenate(([7, 7, 7], masks_of(parents))),
    )
    step = StepMetadata(batch, torch.device("cpu"), 4)
    assert step.masks.tolist() == [0, 0, 0, *masks_of(parents).tolist()]
    assert step.places.tolist() == [0, 1, 9, 10, 11, 12, 10, 10]
    found = step.short(3).table.tolist()
    assert found == [[0, 0, 2, 0, 2, 0], [1, 2, 3, 9, 10, 9], [1, 5, 3, 12, 10, 10]]


def test_recorded_steps_are_refilled_where_they_are():
    recorded = RecordedMetadata(3, 4, 16, torch.device("cpu"))
    tiles = recorded.short(5)
    assert (recorded.long(5), recorded.short(1), tiles.longest) == (None, tiles, 64)
    batch = AttentionBatch(
        query_start_loc=np.arange(4, dtype=np.int32),
        seq_lens=np.array([5, 1, 40], dtype=np.int32),
        block_table=np.arange(12, dtype=np.int32).reshape(3, 4),
        slot_mapping=np.array([20, 0, 119]),
    )
    before = [one.data_ptr() for one in (recorded.slots, recorded.blocks, tiles.table)]
    recorded.refill(batch)
    assert [one.data_ptr() for one in (recorded.slots, recorded.blocks, tiles.table)] == before
    assert recorded.slots.tolist() == [20, 0, 119]
    assert recorded.blocks.tolist() == batch.block_table.tolist()
    whole = replace(batch, slot_mapping=batch.slot_mapping.copy())
    assert torch.equal(tiles.table, StepMetadata(whole, torch.device("cpu")).short(1).table)
