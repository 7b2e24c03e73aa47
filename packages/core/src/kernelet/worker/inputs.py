"""A step's inputs, taken from the batch's arrays without a loop over tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelet.contracts.attention import AttentionBatch
from kernelet.contracts.executor import ScheduledRequest
from kernelet.worker.batch import BatchState, HeldRequest
from kernelet.worker.tables import BlockTable


@dataclass(frozen=True, kw_only=True)
class StepArrays:
    """What a step computes, on the host.

    Attributes:
        token_ids: int64 [tokens].
        positions: int64 [tokens].
        query_start_loc: int64 [requests + 1].
        groups: What attention needs of each cache group.
    """

    token_ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    query_start_loc: NDArray[np.int64]
    groups: tuple[AttentionBatch, ...]


def build_inputs(batch: BatchState, work: Sequence[tuple[HeldRequest, ScheduledRequest]]) -> StepArrays:
    """Lays the requests of a step out one after the other.

    Args:
        batch: The requests that the worker holds.
        work: What is computed, in order; not empty.
    """
    rows = np.array([held.row for held, _ in work], dtype=np.int64)
    counts = np.array([entry.num_tokens for _, entry in work], dtype=np.int64)
    computed = np.array([entry.num_computed_tokens for _, entry in work], dtype=np.int64)
    if counts.max() == 1:  # every request decodes
        starts = np.arange(len(work) + 1, dtype=np.int64)
        token_rows, positions = rows, computed
    else:
        starts = np.zeros(len(work) + 1, dtype=np.int64)
        np.cumsum(counts, out=starts[1:])
        token_rows = np.repeat(rows, counts)
        positions = np.arange(starts[-1]) + np.repeat(computed - starts[:-1], counts)
    lengths = computed + counts
    groups = tuple(_group(table, rows, token_rows, positions, starts, computed, lengths) for table in batch.tables)
    return StepArrays(
        token_ids=batch.tokens[token_rows, positions],
        positions=positions,
        query_start_loc=starts,
        groups=groups,
    )


def _group(
    table: BlockTable,
    rows: NDArray[np.int64],
    token_rows: NDArray[np.int64],
    positions: NDArray[np.int64],
    starts: NDArray[np.int64],
    computed: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> AttentionBatch:
    index, offset = np.divmod(positions, table.block_size)
    width = -(-int(lengths.max()) // table.block_size)
    return AttentionBatch(
        query_start_loc=starts.astype(np.int32),
        seq_lens=lengths.astype(np.int32),
        block_table=table.visible(rows, computed, width),
        slot_mapping=table.ids[token_rows, index].astype(np.int64) * table.block_size + offset,
    )
