"""A paged cache in the order that libraries of attention read, and how pages enter, leave and move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernelet.contracts.attention import Attention, AttentionBatch, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.kv_pages import KVRegion
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError

Cache = tuple[Tensor, ...]
"""Keys, then values, each [block, token, kv_head, head_size]; 8-bit floats as their bits, uint8."""

LARGEST_E4M3FN = 448.0


@dataclass(frozen=True, kw_only=True)
class PagedStep:
    """A step as functions over sequences of several lengths take it; tensors are on the device.

    Attributes:
        slots: int64 [tokens], where keys and values go.
        query_start_loc: int32 [requests + 1].
        seq_lens: int32 [requests], keys of each request.
        key_start_loc: int32 [requests + 1], sums of ``seq_lens``.
        block_table: int32 [requests, blocks].
        max_query_len: Tokens of the request that has most in this step.
        max_seq_len: Keys of the longest request.
        is_uniform: All requests have equally many tokens.
    """

    slots: Tensor
    query_start_loc: Tensor
    seq_lens: Tensor
    key_start_loc: Tensor
    block_table: Tensor
    max_query_len: int
    max_seq_len: int
    is_uniform: bool

    @classmethod
    def of(cls, batch: AttentionBatch, device: Any) -> PagedStep:
        """The step on its device."""
        counts = np.diff(batch.query_start_loc)

        def on(array: Any) -> Tensor:
            return torch.tensor(array, device=device)

        return cls(
            slots=on(batch.slot_mapping),
            query_start_loc=on(batch.query_start_loc),
            seq_lens=on(batch.seq_lens),
            key_start_loc=on(np.concatenate(([0], np.cumsum(batch.seq_lens))).astype(np.int32)),
            block_table=on(batch.block_table),
            max_query_len=int(counts.max(initial=0)),
            max_seq_len=int(batch.seq_lens.max(initial=0)),
            is_uniform=len(set(counts.tolist())) == 1,
        )

    def refill(self, batch: AttentionBatch) -> None:
        """Another step's tensors in the place of these; sizes are the same, and what is no tensor stays."""
        other = self.of(batch, "cpu")
        for name in ("slots", "query_start_loc", "seq_lens", "key_start_loc", "block_table"):
            getattr(self, name).copy_(getattr(other, name))


class PagedCache(Attention):
    """Everything of an attention that stores keys and values and moves them; what attends derives from it.

    Serves caches of the layer's dtype and ``e4m3fn:tensor``. A step is a ``PagedStep``, or has its ``slots``.

    Attributes:
        scales: Of keys and of values, what stored elements are multiplied by.
    """

    def __init__(self, spec: AttentionSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self.scales = (1.0, 1.0)

    def set_cache_scales(self, key: float, value: float) -> None:
        key, value = torch.tensor([key, value]).tolist()  # float32, as readers of pages have them
        self.scales = (key, value)

    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Cache:
        shape = (num_blocks, spec.block_size, spec.num_kv_heads, spec.head_size)
        dtype = torch.uint8 if self.spec.cache_form else getattr(torch, self.spec.dtype)
        cache = tuple(torch.zeros(shape, dtype=dtype, device=device) for _ in range(2))
        taken = sum(part.nbytes for part in cache)
        if taken > num_blocks * spec.page_bytes:
            raise ConfigError(
                f"a cache of {num_blocks} blocks takes {taken} bytes, but its spec allows {spec.page_bytes} a block"
            )
        return cache

    def build_metadata(self, batch: AttentionBatch, device: Any) -> Any:
        return PagedStep.of(batch, device)

    def write_kv(self, key: Tensor, value: Tensor, cache: Any, metadata: Any) -> None:
        for into, rows, scale in zip(cache, (key, value), self.scales, strict=True):
            into.flatten(0, 1).index_copy_(0, metadata.slots, self._elements(rows, scale))

    def _elements(self, rows: Tensor, scale: float) -> Tensor:
        if not self.spec.cache_form:
            return rows
        wide = rows.float() if rows.itemsize < 4 else rows
        # NaN stays NaN in clamp and in the conversion, which rounds to nearest, ties to even
        over = (wide / scale).float().clamp(-LARGEST_E4M3FN, LARGEST_E4M3FN)
        return over.to(torch.float8_e4m3fn).view(torch.uint8)

    def copy_blocks(self, cache: Any, sources: Sequence[int], destinations: Sequence[int]) -> None:
        for part in cache:
            part[list(destinations)] = part[list(sources)]

    def export_pages(self, cache: Any, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        where = places_of(block_ids, start, end, self.spec.block_size, cache[0].device)
        return tuple(
            part[where].view(getattr(torch, said.dtype))
            for part, said in zip(cache, self.spec.cache_parts, strict=True)
        )

    def import_pages(self, cache: Any, block_ids: Sequence[int], start: int, parts: Sequence[Tensor]) -> None:
        where = places_of(block_ids, start, start + len(parts[0]), self.spec.block_size, cache[0].device)
        for into, part in zip(cache, parts, strict=True):
            into[where] = part.contiguous().view(into.dtype)

    def native_layout(self) -> str:
        spec = self.spec
        sizes = f"block={spec.block_size} kv_heads={spec.num_kv_heads} size={spec.head_size}"
        return f"kernelet-paged 1: [key, value] apart, [token][kv_head][size] {spec.cache_form or spec.dtype} {sizes}"

    def regions(self, cache: Any) -> tuple[KVRegion, ...]:
        return regions_of(cache)


def regions_of(cache: Sequence[Tensor]) -> tuple[KVRegion, ...]:
    """Where the tensors of a cache lie; the first axis of each is the block's."""
    return tuple(
        KVRegion(address=part.data_ptr(), block_bytes=part[0].nbytes, num_blocks=len(part), device=str(part.device))
        for part in cache
    )


def places_of(
    block_ids: Sequence[int], start: int, end: int, block_size: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """int64 [end - start] each: block and offset of each of a request's tokens.

    Args:
        block_ids: The request's blocks, from its first token on.
        start: First token.
        end: Behind the last.
        block_size: Tokens a block.
        device: Where the numbers are needed.
    """
    positions = torch.arange(start, end)
    blocks = torch.tensor(block_ids, dtype=torch.int64)[positions // block_size]
    return blocks.to(device), (positions % block_size).to(device)
