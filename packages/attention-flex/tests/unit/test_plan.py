from __future__ import annotations

import numpy as np
import pytest
import torch

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet_attention_flex.plan import plan_step

BATCH = AttentionBatch(
    query_start_loc=np.array([0, 1, 4, 5], dtype=np.int32),
    seq_lens=np.array([6, 5, 4], dtype=np.int32),
    block_table=np.array([[3, 1], [2, 4], [5, 0]], dtype=np.int32),
    slot_mapping=np.array([5, 10, 11, 16, 23], dtype=np.int64),
)


def spec(window=None):
    return AttentionSpec(
        kind="full",
        num_heads=2,
        num_kv_heads=1,
        head_size=8,
        dtype="float32",
        block_size=4,
        scale=1.0,
        window=window,
    )


def seen(mask, requests, count, keys):
    at = (torch.arange(size) for size in (requests, count, keys))
    row, query, key = torch.meshgrid(*at, indexing="ij")
    return mask.mask_mod(row, row, query, key)


@pytest.mark.parametrize("blocks", [False, True])
def test_requests_with_equally_many_tokens_are_a_group(blocks):
    step = plan_step(BATCH, spec(), torch.device("cpu"), blocks=blocks)
    ones, threes = step.groups
    assert step.slots.tolist() == BATCH.slot_mapping.tolist()
    assert ones.tokens.tolist() == [[0], [4]]
    assert threes.tokens.tolist() == [[1, 2, 3]]
    assert ones.slots.tolist() == [[12, 13, 14, 15, 4, 5], [20, 21, 22, 23, 0, 0]]
    assert threes.slots.tolist() == [[8, 9, 10, 11, 16]]
    assert seen(ones.mask, 2, 1, 6).tolist() == [[[True] * 6], [[True] * 4 + [False] * 2]]
    assert seen(threes.mask, 1, 3, 5)[0].tolist() == [[key <= 2 + query for key in range(5)] for query in range(3)]


def test_short_requests_gather_no_more_than_twice_their_keys():
    lengths = np.array([3000, 1, 5, 7, 2100], dtype=np.int32)
    batch = AttentionBatch(
        query_start_loc=np.arange(6, dtype=np.int32),
        seq_lens=lengths,
        block_table=np.ones((5, 750), dtype=np.int32),
        slot_mapping=np.zeros(5, dtype=np.int64),
    )
    groups = plan_step(batch, spec(), torch.device("cpu"), blocks=False).groups
    assert [group.tokens.flatten().tolist() for group in groups] == [[1], [2, 3], [0, 4]]
    assert [group.slots.shape for group in groups] == [(1, 1), (2, 7), (2, 3000)]


def test_a_window_gathers_what_some_token_sees():
    ones, threes = plan_step(BATCH, spec(window=2), torch.device("cpu"), blocks=False).groups
    assert ones.slots.tolist() == [[4, 5], [22, 23]]
    assert seen(ones.mask, 2, 1, 2).all()
    assert threes.slots.tolist() == [[9, 10, 11, 16]]
    assert seen(threes.mask, 1, 3, 4)[0].tolist() == [
        [query <= key <= query + 1 for key in range(4)] for query in range(3)
    ]
