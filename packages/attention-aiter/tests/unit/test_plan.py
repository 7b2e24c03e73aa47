from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from kernelet.contracts.attention import AttentionBatch
from kernelet_attention_aiter.plan import READ_AHEAD, Pages

BATCH = AttentionBatch(
    query_start_loc=np.array([0, 1, 4], dtype=np.int32),
    seq_lens=np.array([33, 5], dtype=np.int32),
    block_table=np.array([[3, 1], [2, 0]], dtype=np.int32),
    slot_mapping=np.array([32, 66, 67, 68], dtype=np.int64),
)


def test_blocks_are_pages_of_sixteen():
    step = Pages.of(BATCH, 32, "cpu")
    assert step.indptr.tolist() == [0, 3, 4]
    assert step.indices.tolist() == [6, 7, 2, 4] + [0] * READ_AHEAD
    assert step.last_page_lens.tolist() == [1, 5]
    assert (step.max_query_len, step.max_seq_len) == (3, 33)
    assert step.slots.dtype == torch.int64
    arrays = (step.query_start_loc, step.indptr, step.indices, step.last_page_lens)
    assert {array.dtype for array in arrays} == {torch.int32}


def test_the_last_page_may_be_full():
    full = replace(BATCH, seq_lens=np.array([32, 16], dtype=np.int32))
    assert Pages.of(full, 32, "cpu").last_page_lens.tolist() == [16, 16]
