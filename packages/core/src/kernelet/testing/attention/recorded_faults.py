"""Attention whose recorded steps are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch
from kernelet.testing.attention.reference import RecordedBatch, SlowAttention


class NewArrays(SlowAttention):
    """Copies them to other places."""

    def refill(self, metadata: RecordedBatch, batch: AttentionBatch) -> None:
        arrays = {name: held for name, held in vars(batch).items() if isinstance(held, np.ndarray)}
        vars(metadata).update({name: array.copy() for name, array in arrays.items()})


class ForgetsTheToken(SlowAttention):
    """Attends to what was there before the step."""

    def refill(self, metadata: RecordedBatch, batch: AttentionBatch) -> None:
        super().refill(metadata, batch)
        metadata.seq_lens[:] = np.maximum(batch.seq_lens - 1, 1)


class WritesEveryRow(SlowAttention):
    """Also those that fill up: at the end of a block that is somebody's."""

    def write_kv(self, key: Tensor, value: Tensor, cache: Any, metadata: AttentionBatch) -> None:
        super().write_kv(key, value, cache, metadata)
        if isinstance(metadata, RecordedBatch):
            nobodys = key[metadata.slot_mapping == 0] + 1
            used = metadata.block_table[metadata.block_table > 0]
            if len(nobodys) and len(used):
                cache[0][used[-1], -1] = nobodys[0]


RECORDED_PLANTED: tuple[tuple[str, type[Any], str], ...] = (
    ("refills-other-tensors", NewArrays, "refill() must change tensors in place"),
    (
        "forgets-the-token-of-a-step",
        ForgetsTheToken,
        "must give what build_metadata() gives",
    ),
    ("stores-what-fills-up", WritesEveryRow, "rows that fill a batch up must be stored in the null block alone"),
)
"""Name, attention, and what the suite says of it."""
