"""Attention, slow and obvious."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernelet.contracts.attention import Attention, AttentionBatch, AttentionSpec
from kernelet.contracts.cache import NULL_BLOCK, FullAttentionSpec
from kernelet.contracts.graphs import CapturesDecode
from kernelet.contracts.kv_pages import KVRegion
from kernelet.contracts.offer import Settings

NO_SETTINGS = Settings(plugin="reference")


def attend(query: Tensor, key: Tensor, value: Tensor, spec: AttentionSpec, sinks: Tensor | None = None) -> Tensor:
    """Attention of the last tokens of a sequence, written out in float64.

    Args:
        query: [n, num_heads, head_size] of the last n tokens.
        key: [tokens, num_kv_heads, head_size]; tokens that no query sees may be left out at the beginning.
        value: The same.
        spec: Heads, scale, window and soft cap.
        sinks: [num_heads], a logit more in each denominator.

    Returns:
        float64 [n, num_heads, head_size].
    """
    group = spec.num_heads // spec.num_kv_heads
    key, value = (part.double().repeat_interleave(group, 1) for part in (key, value))
    scores = torch.einsum("qhd,khd->hqk", query.double(), key) * spec.scale
    if spec.soft_cap is not None:
        scores = spec.soft_cap * torch.tanh(scores / spec.soft_cap)
    position = torch.arange(len(key) - len(query), len(key), device=query.device)[:, None]
    distance = position - torch.arange(len(key), device=query.device)
    seen = distance >= 0
    if spec.window is not None:
        seen &= distance < spec.window
    scores = scores.masked_fill(~seen, -torch.inf)
    if sinks is not None:
        column = sinks.double()[:, None, None].expand(-1, len(query), 1)
        scores = torch.cat((scores, column), -1)
    weights = scores.softmax(-1)[..., : len(key)]
    return torch.einsum("hqk,khd->qhd", weights, value)


class RecordedBatch(AttentionBatch):
    """Metadata of decode steps: arrays that stay where they are. Rows whose slot is 0 are nobody's."""


class SlowAttention(Attention, CapturesDecode):
    """Gathers what the queries of one request see, block by block, and attends; then the next request.

    Raises:
        ValueError: a token would be written to the null block, or a dropped block read.
    """

    def __init__(self, spec: AttentionSpec, settings: Settings = NO_SETTINGS) -> None:
        super().__init__(spec, settings)

    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Tensor:
        """[key or value, block, token, num_kv_heads, head_size]."""
        shape = (2, num_blocks, spec.block_size, spec.num_kv_heads, spec.head_size)
        return torch.zeros(shape, dtype=getattr(torch, spec.dtype), device=device)

    def copy_blocks(self, cache: Tensor, sources: Sequence[int], destinations: Sequence[int]) -> None:
        cache[:, list(destinations)] = cache[:, list(sources)].clone()

    def export_pages(self, cache: Tensor, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        return tuple(part[self.where(block_ids, start, end)] for part in cache)

    def import_pages(self, cache: Tensor, block_ids: Sequence[int], start: int, parts: Sequence[Tensor]) -> None:
        for into, part in zip(cache, parts, strict=True):
            into[self.where(block_ids, start, start + len(part))] = part

    def where(self, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, Tensor]:
        """Block and offset of each of a request's tokens."""
        positions = torch.arange(start, end)
        return torch.tensor(block_ids)[positions // self.spec.block_size], positions % self.spec.block_size

    def native_layout(self) -> str:
        return f"slow [key, value][block][token][kv_head][size] {self.spec.cache_parts} {self.page_shape}"

    @property
    def page_shape(self) -> tuple[int, int, int]:
        """Tokens, heads, size."""
        return self.spec.block_size, self.spec.num_kv_heads, self.spec.head_size

    def regions(self, cache: Tensor) -> tuple[KVRegion, ...]:
        return tuple(
            KVRegion(address=part.data_ptr(), block_bytes=part[0].nbytes, num_blocks=len(part), device=str(part.device))
            for part in cache
        )

    def build_metadata(self, batch: AttentionBatch, device: Any) -> AttentionBatch:
        return batch

    def decode_metadata(self, num_requests: int, num_blocks: int, device: Any) -> RecordedBatch:
        return RecordedBatch(
            query_start_loc=np.arange(num_requests + 1, dtype=np.int32),
            seq_lens=np.ones(num_requests, dtype=np.int32),
            block_table=np.zeros((num_requests, num_blocks), dtype=np.int32),
            slot_mapping=np.zeros(num_requests, dtype=np.int64),
        )

    def refill(self, metadata: RecordedBatch, batch: AttentionBatch) -> None:
        metadata.seq_lens[:] = batch.seq_lens
        metadata.block_table[:] = batch.block_table
        metadata.slot_mapping[:] = batch.slot_mapping

    def write_kv(self, key: Tensor, value: Tensor, cache: Tensor, metadata: AttentionBatch) -> None:
        rows, blocks, offsets = self.slots(metadata)
        cache[0][blocks, offsets] = key[rows]
        cache[1][blocks, offsets] = value[rows]

    def slots(self, metadata: AttentionBatch) -> tuple[Any, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Rows of the step that are somebody's; block and offset of each."""
        slots = metadata.slot_mapping
        rows = np.flatnonzero(slots) if isinstance(metadata, RecordedBatch) else slice(None)
        blocks, offsets = np.divmod(slots[rows], self.spec.block_size)
        if (blocks == NULL_BLOCK).any():
            raise ValueError("a slot of this step is in the null block")
        return rows, blocks, offsets

    def forward(self, query: Tensor, cache: Tensor, metadata: AttentionBatch, sinks: Tensor | None = None) -> Tensor:
        result = torch.zeros_like(query)
        for row, length in enumerate(metadata.seq_lens.tolist()):
            if isinstance(metadata, RecordedBatch) and not metadata.slot_mapping[row]:
                continue
            start, stop = metadata.query_start_loc[row : row + 2].tolist()
            key, value = self.seen(cache, metadata.block_table[row], length, stop - start)
            result[start:stop] = self.attend(query[start:stop], key, value, sinks)
        return result

    def attend(self, query: Tensor, key: Tensor, value: Tensor, sinks: Tensor | None) -> Tensor:
        """One request's queries over what they see."""
        return attend(query, key, value, self.spec, sinks)

    def seen(self, cache: Tensor, table: np.ndarray[Any, Any], length: int, queries: int) -> tuple[Tensor, Tensor]:
        """Keys and values that the last queries of a request see."""
        window = self.spec.window
        first = 0 if window is None else max(0, length - queries - window + 1)
        blocks, offsets = np.divmod(np.arange(first, length), self.spec.block_size)
        if (table[blocks] == NULL_BLOCK).any():
            raise ValueError("a token that this step sees is in the null block")
        return cache[0][table[blocks], offsets], cache[1][table[blocks], offsets]
