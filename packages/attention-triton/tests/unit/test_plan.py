from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.attention import AttentionBatch
from kernelet_attention_triton.configurations import SHORT
from kernelet_attention_triton.plan import StepMetadata


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
        for row, first, count, position in tiles.table.tolist():
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
