from __future__ import annotations

import numpy as np
import torch

from kernelet.contracts.attention import AttentionBatch
from kernelet.testing.attention.varlen import attend_varlen
from kernelet_attention_flashinfer.plan import Pages, Wrappers
from kernelet_attention_flashinfer.stand_in import BatchDecodeWithPagedKVCacheWrapper, stand_in

BATCH = AttentionBatch(
    query_start_loc=np.array([0, 1, 4], dtype=np.int32),
    seq_lens=np.array([33, 5], dtype=np.int32),
    block_table=np.array([[3, 1], [2, 0]], dtype=np.int32),
    slot_mapping=np.array([32, 66, 67, 68], dtype=np.int64),
)


def test_pages_are_those_that_are_used():
    step = Pages.of(BATCH, 32, "cpu")
    assert step.indptr.tolist() == [0, 2, 3]
    assert step.indices.tolist() == [3, 1, 2]
    assert step.last_page_len.tolist() == [1, 5]
    assert not step.is_decode
    assert {a.dtype for a in (step.query_start_loc, step.indptr, step.indices, step.last_page_len)} == {torch.int32}


def test_a_kind_of_layer_is_planned_once_a_step():
    step, made = Pages.of(BATCH, 32, "cpu"), []
    for key in ("a", "b", "a"):
        step.wrapper(key, lambda key=key: made.append(key) or key)
    assert made == ["a", "b"]


def test_a_kind_of_layer_keeps_its_wrappers():
    with stand_in(attend_varlen):
        import flashinfer

        wrappers = Wrappers(flashinfer, "cpu")
        first = wrappers.get("a", decode=True)
        assert isinstance(first, BatchDecodeWithPagedKVCacheWrapper)
        assert wrappers.get("a", decode=True) is first
        assert wrappers.get("b", decode=True) is not first
        assert type(wrappers.get("a", decode=False)) is not type(first)
