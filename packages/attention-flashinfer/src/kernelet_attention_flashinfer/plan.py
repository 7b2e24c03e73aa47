"""A step as FlashInfer takes it, and its plans: one for each kind of layer, made when the first such layer runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch

WORKSPACE_BYTES = 256 << 20
"""Of partial results where keys are split; what FlashInfer recommends, doubled for heads of 256."""


@dataclass(frozen=True, kw_only=True)
class Pages:
    """Sequences of pages; int32 on the host but for ``indices``, which are on the device.

    Attributes:
        slots: int64 [tokens] on the device, where keys and values go.
        query_start_loc: [requests + 1].
        indptr: [requests + 1], where each request's pages are.
        indices: Pages, of one request after the other.
        last_page_len: [requests], tokens of the last page: from 1 to its size.
        is_decode: Every request has one token.
        planned: Wrappers by kind of layer.
    """

    slots: Tensor
    query_start_loc: Tensor
    indptr: Tensor
    indices: Tensor
    last_page_len: Tensor
    is_decode: bool
    planned: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, batch: AttentionBatch, block_size: int, device: Any) -> Pages:
        """The step's."""
        counts = -(-batch.seq_lens // block_size)
        rows = (row[:count] for row, count in zip(batch.block_table, counts, strict=True))
        indices = np.concatenate([np.zeros(0, np.int32), *rows])
        return cls(
            slots=torch.tensor(batch.slot_mapping, device=device),
            query_start_loc=torch.tensor(batch.query_start_loc),
            indptr=torch.tensor(np.concatenate(([0], np.cumsum(counts))).astype(np.int32)),
            indices=torch.tensor(indices, device=device),
            last_page_len=torch.tensor((batch.seq_lens - 1) % block_size + 1),
            is_decode=bool((np.diff(batch.query_start_loc) == 1).all()),
        )

    def wrapper(self, key: Any, make: Callable[[], Any]) -> Any:
        """The wrapper that is planned for a kind of layer; ``make`` plans it once a step."""
        if key not in self.planned:
            self.planned[key] = make()
        return self.planned[key]


class Wrappers:
    """FlashInfer's wrappers on one device, each with buffers of its own but for the workspace, which calls share.

    Args:
        library: The module.
        device: Where they run.
    """

    def __init__(self, library: Any, device: Any) -> None:
        self._library = library
        self._workspace = torch.zeros(WORKSPACE_BYTES, dtype=torch.uint8, device=device)
        self._made: dict[Any, Any] = {}

    def get(self, key: Any, *, decode: bool) -> Any:
        """One for a kind of layer: plans of others stay as they are."""
        if (key, decode) not in self._made:
            self._made[key, decode] = self._decode() if decode else self._prefill()
        return self._made[key, decode]

    def _decode(self) -> Any:
        # without tensor cores, some numbers of heads have no kernel
        return self._library.BatchDecodeWithPagedKVCacheWrapper(self._workspace, "NHD", use_tensor_cores=True)

    def _prefill(self) -> Any:
        return self._library.BatchPrefillWithPagedKVCacheWrapper(self._workspace, "NHD")
