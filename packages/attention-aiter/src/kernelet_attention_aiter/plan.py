"""A step as AITER takes it: pages of 16 tokens, of one request after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch

PAGE = 16
"""Tokens of a page: the smallest for which its kernels are built, but for 1. A block is some such pages."""

READ_AHEAD = 256
"""Page indices that kernels may read behind the last one."""


@dataclass(frozen=True, kw_only=True)
class Pages:
    """Sequences of pages; tensors are on the device, and int32 but for ``slots``.

    Attributes:
        slots: int64 [tokens], where keys and values go.
        query_start_loc: [requests + 1].
        indptr: [requests + 1], where each request's pages are.
        indices: Pages, of one request after the other; then zeros, which are read and not used.
        last_page_lens: [requests], tokens of the last page: from 1 to its size.
        max_query_len: Tokens of the request that has most in this step.
        max_seq_len: Keys of the longest request.
    """

    slots: Tensor
    query_start_loc: Tensor
    indptr: Tensor
    indices: Tensor
    last_page_lens: Tensor
    max_query_len: int
    max_seq_len: int

    @classmethod
    def of(cls, batch: AttentionBatch, block_size: int, device: Any) -> Pages:
        """The step's."""
        counts = -(-batch.seq_lens // PAGE)
        pages = batch.block_table[..., None] * (block_size // PAGE) + np.arange(block_size // PAGE, dtype=np.int32)
        rows = (row.ravel()[:count] for row, count in zip(pages, counts, strict=True))

        def on(array: Any) -> Tensor:
            return torch.tensor(array, device=device)

        return cls(
            slots=on(batch.slot_mapping),
            query_start_loc=on(batch.query_start_loc),
            indptr=on(np.concatenate(([0], np.cumsum(counts))).astype(np.int32)),
            indices=on(np.concatenate([*rows, np.zeros(READ_AHEAD, np.int32)]).astype(np.int32)),
            last_page_lens=on((batch.seq_lens - 1) % PAGE + 1),
            max_query_len=int(np.diff(batch.query_start_loc).max(initial=0)),
            max_seq_len=int(batch.seq_lens.max(initial=0)),
        )
