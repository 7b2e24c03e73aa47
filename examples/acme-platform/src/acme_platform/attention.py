"""Attention over a cache in which every token has a slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.attention import Attention, AttentionBatch
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.errors import ConfigError

TILE = 256
"""Queries that are computed at once: scores of a long prompt would take its length squared."""


@dataclass(frozen=True)
class Part:
    """One request of a step.

    Attributes:
        start: Where its tokens begin in the step.
        stop: Where they end.
        slots: Slots of all its tokens, those of this step included; dropped blocks are the null block's.
    """

    start: int
    stop: int
    slots: Tensor


@dataclass(frozen=True)
class Metadata:
    """A step: where its keys and values go, and its requests."""

    written: Tensor
    parts: tuple[Part, ...]


class AcmeAttention(Attention):
    """The cache of a layer is [key or value, kv_head, slot, head_size]; slot = block * block_size + offset."""

    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Any:
        shape = (2, spec.num_kv_heads, num_blocks * spec.block_size, spec.head_size)
        cache = torch.zeros(shape, dtype=getattr(torch, spec.dtype), device=device)
        if cache.nbytes > num_blocks * spec.page_bytes:
            raise ConfigError(f"a block takes {cache.nbytes // num_blocks} bytes, its spec allows {spec.page_bytes}")
        return cache

    def copy_blocks(self, cache: Any, sources: Sequence[int], destinations: Sequence[int]) -> None:
        blocks = cache.unflatten(2, (-1, self.spec.block_size))
        blocks[:, :, list(destinations)] = blocks[:, :, list(sources)]

    def export_pages(self, cache: Any, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        key, value = cache[:, :, self._slots(cache, block_ids, start, end)].transpose(1, 2)
        return key.contiguous(), value.contiguous()

    def import_pages(self, cache: Any, block_ids: Sequence[int], start: int, parts: Sequence[Tensor]) -> None:
        slots = self._slots(cache, block_ids, start, start + len(parts[0]))
        cache[:, :, slots] = torch.stack(tuple(parts)).transpose(1, 2)

    def _slots(self, cache: Tensor, block_ids: Sequence[int], start: int, end: int) -> Tensor:
        """Of tokens [start, end) of a request."""
        position = torch.arange(start, end, device=cache.device)
        blocks = torch.tensor(block_ids, dtype=torch.int64, device=cache.device)
        return blocks[position // self.spec.block_size] * self.spec.block_size + position % self.spec.block_size

    def build_metadata(self, batch: AttentionBatch, device: Any) -> Metadata:
        size = self.spec.block_size
        blocks = torch.from_numpy(batch.block_table).to(device, torch.int64)
        slots = (blocks[:, :, None] * size + torch.arange(size, device=device)).flatten(1)
        starts, lengths = batch.query_start_loc.tolist(), batch.seq_lens.tolist()
        parts = (
            Part(start, stop, row[:length])
            for start, stop, row, length in zip(starts[:-1], starts[1:], slots, lengths, strict=True)
        )
        return Metadata(torch.from_numpy(batch.slot_mapping).to(device), tuple(parts))

    def write_kv(self, key: Tensor, value: Tensor, cache: Any, metadata: Any) -> None:
        step: Metadata = metadata
        cache[0, :, step.written] = key.transpose(0, 1)
        cache[1, :, step.written] = value.transpose(0, 1)

    def forward(self, query: Tensor, cache: Any, metadata: Any, sinks: Tensor | None = None) -> Tensor:
        step: Metadata = metadata
        result = torch.empty_like(query)
        for part in step.parts:
            before = len(part.slots) - (part.stop - part.start)  # tokens of earlier steps
            for start in range(part.start, part.stop, TILE):
                stop = min(start + TILE, part.stop)
                first = before + start - part.start
                result[start:stop] = self._tile(query[start:stop], first, part.slots, cache)
        return result

    def _tile(self, query: Tensor, first: int, slots: Tensor, cache: Tensor) -> Tensor:
        """Queries [n, heads, size] at positions ``first``, ``first + 1``, ... of one request."""
        spec, count = self.spec, len(query)
        lowest = 0 if spec.window is None else max(0, first - spec.window + 1)
        key, value = cache[:, :, slots[lowest : first + count]]
        grouped = query.view(count, spec.num_kv_heads, -1, spec.head_size).permute(1, 2, 0, 3)
        scores = torch.einsum("kgnd,kmd->kgnm", grouped, key) * spec.scale
        position = torch.arange(first, first + count, device=query.device)[:, None]
        other = torch.arange(lowest, first + count, device=query.device)[None, :]
        hidden = other > position
        if spec.window is not None:
            hidden |= other <= position - spec.window
        weights = scores.masked_fill_(hidden, float("-inf")).softmax(-1)
        mixed = torch.einsum("kgnm,kmd->kgnd", weights, value)
        return mixed.permute(2, 0, 1, 3).reshape(query.shape)
