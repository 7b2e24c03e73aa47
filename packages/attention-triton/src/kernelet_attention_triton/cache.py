"""The cache of a layer, [block, key or value, kv_head, token, head_size], and how pages leave and come.

Of latent layers there is the key alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.attention import Attention
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.kv_pages import KVRegion
from kernelet.errors import ConfigError
from kernelet.layers.paged import places_of, regions_of

Cache = tuple[Tensor, ...]
"""Elements; then float32 scales [block, key or value, kv_head, token], where tokens and heads have their own."""


class CachedPages(Attention):
    """Everything of an attention that moves pages and computes nothing."""

    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Cache:
        vectors = 1 if self.spec.kv_lora_rank else 2
        shape = (num_blocks, vectors, spec.num_kv_heads, spec.block_size)
        kept = {"": self.spec.dtype, "e4m3fn": "uint8"}.get(self.spec.cache_dtype, self.spec.cache_dtype)
        cache: Cache = (torch.zeros(*shape, spec.head_size, dtype=getattr(torch, kept), device=device),)
        if self.spec.cache_scales == "token_head":
            cache += (torch.zeros(shape, dtype=torch.float32, device=device),)
        taken = sum(part.nbytes for part in cache)
        if taken > num_blocks * spec.page_bytes:
            raise ConfigError(
                f"a cache of {num_blocks} blocks takes {taken} bytes, but its spec allows {spec.page_bytes} a block"
            )
        return cache

    def copy_blocks(self, cache: Any, sources: Sequence[int], destinations: Sequence[int]) -> None:
        for part in cache:
            part[list(destinations)] = part[list(sources)]

    def export_pages(self, cache: Any, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        where = places_of(block_ids, start, end, self.spec.block_size, cache[0].device)
        shape = (end - start, self.spec.num_kv_heads)
        return tuple(
            part[where].contiguous().view(getattr(torch, said.dtype)).reshape(*shape, said.width)
            for part, said in zip(self._parts(cache), self.spec.cache_parts, strict=True)
        )

    def import_pages(self, cache: Any, block_ids: Sequence[int], start: int, parts: Sequence[Tensor]) -> None:
        where = places_of(block_ids, start, start + len(parts[0]), self.spec.block_size, cache[0].device)
        for into, part in zip(self._parts(cache), parts, strict=True):
            into[where] = part.contiguous().view(into.dtype).reshape(len(part), *into.shape[2:])

    def native_layout(self) -> str:
        spec = self.spec
        sizes = f"block={spec.block_size} kv_heads={spec.num_kv_heads} size={spec.head_size}"
        stored = ", ".join(part.name for part in spec.cache_parts if not part.name.endswith("_scale"))
        return f"kernelet-pages 1: [{stored}][kv_head][token][size] {spec.cache_form or spec.dtype} {sizes}"

    def regions(self, cache: Any) -> tuple[KVRegion, ...]:
        return regions_of(cache)

    @staticmethod
    def _parts(cache: Cache) -> tuple[Tensor, ...]:
        """Views [block, token, kv_head, ...], as ``AttentionSpec.cache_parts`` lists them."""
        return tuple(half for part in cache for half in part.transpose(2, 3).unbind(1))
