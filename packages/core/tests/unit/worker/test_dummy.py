from __future__ import annotations

import numpy as np

from kernelet.contracts.attention import AttentionBatch
from kernelet.contracts.cache import NULL_BLOCK
from kernelet.worker.dummy import SCRATCH_BLOCK, dummy_arrays, fill_up


def test_whole_prompts_in_one_block():
    arrays = dummy_arrays([5, 3], [4, 2])
    assert arrays.token_ids.tolist() == [0] * 8
    assert arrays.positions.tolist() == [0, 1, 2, 3, 4, 0, 1, 2]
    assert arrays.query_start_loc.tolist() == [0, 5, 8]
    first, second = arrays.groups
    assert first.seq_lens.tolist() == [5, 3]
    assert first.block_table.tolist() == [[SCRATCH_BLOCK] * 2] * 2
    assert first.slot_mapping.tolist() == [4, 5, 6, 7, 4, 4, 5, 6]
    assert second.block_table.shape == (2, 3)
    assert set(second.slot_mapping.tolist()) == {2, 3}
    assert {first.slot_mapping.dtype, second.slot_mapping.dtype} == {np.dtype(np.int64)}


def test_a_token_behind_a_context():
    arrays = dummy_arrays([1, 2], [4], [7, 2])
    assert arrays.positions.tolist() == [6, 0, 1]
    (group,) = arrays.groups
    assert group.query_start_loc.tolist() == [0, 1, 3]
    assert group.seq_lens.tolist() == [7, 2]
    assert group.block_table.shape == (2, 2)
    assert group.slot_mapping.tolist() == [6, 4, 5]


def test_filled_up_rows_are_of_the_null_block():
    batch = AttentionBatch(
        query_start_loc=np.array([0, 1, 2], dtype=np.int32),
        seq_lens=np.array([9, 2], dtype=np.int32),
        block_table=np.array([[3, 4, 5], [6, 0, 0]], dtype=np.int32),
        slot_mapping=np.array([20, 25], dtype=np.int64),
    )
    filled = fill_up(batch, 4, 5)
    assert filled.query_start_loc.tolist() == [0, 1, 2, 3, 4]
    assert filled.seq_lens.tolist() == [9, 2, 1, 1]
    assert filled.block_table.tolist() == [[3, 4, 5, 0, 0], [6, 0, 0, 0, 0], *[[NULL_BLOCK] * 5] * 2]
    assert filled.slot_mapping.tolist() == [20, 25, 0, 0]
    assert {name: array.dtype for name, array in vars(filled).items() if array is not None} == {
        name: array.dtype for name, array in vars(batch).items() if array is not None
    }
