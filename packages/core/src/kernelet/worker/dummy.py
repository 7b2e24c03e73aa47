"""Steps of nobody: to have kernels compiled, to fill batches up, and to see how much memory a step takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelet.contracts.attention import AttentionBatch
from kernelet.contracts.cache import NULL_BLOCK
from kernelet.worker.inputs import StepArrays

SCRATCH_BLOCK = 1
"""The first block that is somebody's, before anybody has one."""


def dummy_arrays(
    lengths: Sequence[int], block_sizes: Sequence[int], contexts: Sequence[int] | None = None
) -> StepArrays:
    """A step that computes token 0 alone, over blocks all of which are the same one.

    Args:
        lengths: Tokens of each request in this step.
        block_sizes: Tokens a block of each cache group.
        contexts: Tokens of each request with this step's; None: there are no others.
    """
    contexts = lengths if contexts is None else contexts
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    positions = np.arange(starts[-1]) - np.repeat(starts[1:] - contexts, lengths)
    groups = tuple(
        AttentionBatch(
            query_start_loc=starts.astype(np.int32),
            seq_lens=np.array(contexts, dtype=np.int32),
            block_table=np.full((len(lengths), -(-max(contexts) // size)), SCRATCH_BLOCK, dtype=np.int32),
            slot_mapping=SCRATCH_BLOCK * size + positions % size,
        )
        for size in block_sizes
    )
    return StepArrays(
        token_ids=np.zeros(len(positions), dtype=np.int64), positions=positions, query_start_loc=starts, groups=groups
    )


def fill_up(batch: AttentionBatch, num_requests: int, num_blocks: int) -> AttentionBatch:
    """The same step with more requests, of one token each in the null block, and a wider block table.

    Args:
        batch: Requests of one token each in this step.
        num_requests: As many as there are then.
        num_blocks: Width of the table then.
    """
    taken, width = batch.block_table.shape
    seq_lens = np.ones(num_requests, dtype=np.int32)
    seq_lens[:taken] = batch.seq_lens
    table = np.full((num_requests, num_blocks), NULL_BLOCK, dtype=np.int32)
    table[:taken, :width] = batch.block_table
    slots = np.zeros(num_requests, dtype=np.int64)
    slots[:taken] = batch.slot_mapping
    return AttentionBatch(
        query_start_loc=np.arange(num_requests + 1, dtype=np.int32),
        seq_lens=seq_lens,
        block_table=table,
        slot_mapping=slots,
    )
