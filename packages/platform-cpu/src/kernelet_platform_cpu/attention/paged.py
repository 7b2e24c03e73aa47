"""What every attention over a paged cache does alike: one or two tensors a layer, whose first axis is blocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.attention import Attention
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.kv_pages import KVRegion
from kernelet.errors import ConfigError
from kernelet_platform_cpu.allocator import zeroed

SCALE_BYTES = 4
"""Of float32."""


class PagedAttention(Attention):
    """Moves blocks of a cache that ``zeroed_cache`` made, and parts of them."""

    @abstractmethod
    def parts_of(self, cache: Any) -> tuple[Tensor, ...]:
        """The cache's own memory, seen as [block, token, kv_head, width] of each of ``AttentionSpec.cache_parts``.

        Elements may be of another dtype of as many bytes, and scales their bytes.
        """

    def copy_blocks(self, cache: Any, sources: Sequence[int], destinations: Sequence[int]) -> None:
        for part in tensors_of(cache):
            part[list(destinations)] = part[list(sources)]

    def export_pages(self, cache: Any, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        size = self.spec.block_size
        first, last = start // size, -(-end // size)
        blocks = torch.tensor(block_ids[first:last], dtype=torch.int64)
        stretch = slice(start - first * size, end - first * size)
        return tuple(
            part.index_select(0, blocks).flatten(0, 1)[stretch].view(getattr(torch, said.dtype))
            for part, said in zip(self.parts_of(cache), self.spec.cache_parts, strict=True)
        )

    def import_pages(self, cache: Any, block_ids: Sequence[int], start: int, parts: Sequence[Tensor]) -> None:
        size = self.spec.block_size
        end = start + len(parts[0])
        whole, last = -(-start // size), end // size
        for into, given in zip(self.parts_of(cache), parts, strict=True):
            rows = given.contiguous().view(into.dtype)
            if whole < last:
                blocks = torch.tensor(block_ids[whole:last], dtype=torch.int64)
                middle = rows[whole * size - start : last * size - start]
                into.index_copy_(0, blocks, middle.unflatten(0, (len(blocks), size)))
            for low, high in edges(start, end, size):
                block = into[block_ids[low // size]]
                block[low % size : low % size + high - low] = rows[low - start : high - start]

    def regions(self, cache: Any) -> tuple[KVRegion, ...]:
        return tuple(
            KVRegion(address=part.data_ptr(), block_bytes=part[0].nbytes, num_blocks=len(part), device="cpu")
            for part in tensors_of(cache)
        )

    def describe_page(self, order: str) -> str:
        """A text for ``native_layout``: an order, and the sizes of what lies in it."""
        spec = self.spec
        sizes = f"block={spec.block_size} kv_heads={spec.num_kv_heads} size={spec.head_size}"
        return f"{order} {spec.cache_form or spec.dtype} {sizes}"


def edges(start: int, end: int, size: int) -> list[tuple[int, int]]:
    """What of [start, end) does not fill its block of ``size``: none, one or two stretches."""
    low, high = -(-start // size) * size, end // size * size
    if low > high:  # both in one block
        return [(start, end)]
    return [(a, b) for a, b in ((start, low), (high, end)) if a < b]


def tensors_of(cache: Any) -> tuple[Tensor, ...]:
    """Those that the cache is made of."""
    return cache if isinstance(cache, tuple) else (cache,)


def zeroed_cache(spec: FullAttentionSpec, num_blocks: int, *block: int, dtype: torch.dtype) -> Tensor:
    """A cache [num_blocks, *block] of zeros.

    Raises:
        ConfigError: it is larger than the spec allows.
    """
    cache = zeroed((num_blocks, *block), dtype)
    if cache.nbytes > num_blocks * spec.page_bytes:
        raise ConfigError(
            f"a cache of {num_blocks} blocks takes {cache.nbytes} bytes, but its spec allows {spec.page_bytes} a block"
        )
    return cache
