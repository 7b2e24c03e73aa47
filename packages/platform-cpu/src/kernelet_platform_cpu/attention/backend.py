"""Full and sliding-window attention over a paged cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from kernelet.contracts.attention import Attention, AttentionBatch, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_platform_cpu.attention.explicit import attend, wide
from kernelet_platform_cpu.attention.metadata import Chunk, DecodeGroup, StepMetadata, Tile, plan_step

EXPLICIT_TILE = 64
"""Queries at once where scores are written out; bounds their memory."""


class TorchPagedAttention(Attention):
    """The cache of a layer is one tensor [block, key or value, kv_head, token, head_size].

    So a gather of (block, head) pages gives contiguous matrices [row, head][token, size], which batched products want.
    Rows with one query are computed together, padded; prompts one by one, by the fused kernel where it has what the
    layer needs.
    """

    def __init__(self, spec: AttentionSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self._dtype: torch.dtype = getattr(torch, spec.dtype)
        self._group = spec.num_heads // spec.num_kv_heads

    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Tensor:
        shape = (num_blocks, 2, spec.num_kv_heads, spec.block_size, spec.head_size)
        # numpy asks the system for zeroed pages, which are taken when first written; torch writes all of them now
        dtype: torch.dtype = getattr(torch, spec.dtype)
        cache = torch.from_numpy(np.zeros((*shape[:-1], shape[-1] * dtype.itemsize), dtype=np.uint8)).view(dtype)
        if cache.nbytes > num_blocks * spec.page_bytes:
            raise ConfigError(
                f"a cache of {num_blocks} blocks takes {cache.nbytes} bytes, "
                f"but its spec allows {spec.page_bytes} a block"
            )
        return cache

    def copy_blocks(self, cache: Any, sources: Sequence[int], destinations: Sequence[int]) -> None:
        cache[list(destinations)] = cache[list(sources)]

    def build_metadata(self, batch: AttentionBatch, device: Any) -> StepMetadata:
        return plan_step(batch, self.spec, self._dtype, wide(self._dtype))

    def write_kv(self, key: Tensor, value: Tensor, cache: Any, metadata: Any) -> None:
        step: StepMetadata = metadata
        if step.fresh is not None:
            # what an earlier owner left behind the last token is masked, but 0 * NaN is NaN
            cache.index_fill_(0, step.fresh, 0)
        cache[:, 0].transpose(1, 2)[step.blocks, step.offsets] = key
        cache[:, 1].transpose(1, 2)[step.blocks, step.offsets] = value

    def forward(self, query: Tensor, cache: Any, metadata: Any, sinks: Tensor | None = None) -> Tensor:
        step: StepMetadata = metadata
        pages = cache.view(-1, self.spec.block_size * self.spec.head_size)
        if not step.chunks and len(step.decodes) == 1 and step.decodes[0].tokens is None:
            return self._decode(query, pages, step.decodes[0], sinks)
        out = torch.empty(query.shape, dtype=query.dtype, device=query.device)
        for group in step.decodes:
            tokens = group.tokens
            if tokens is None:
                out.copy_(self._decode(query, pages, group, sinks))
            else:
                out.index_copy_(0, tokens, self._decode(query.index_select(0, tokens), pages, group, sinks))
        for chunk in step.chunks:
            self._prefill(query, pages, chunk, sinks, out)
        return out

    def _gather(self, pages: Tensor, wanted: Tensor, rows: int) -> tuple[Tensor, Tensor]:
        """Keys and values [rows * kv_heads, tokens, size]."""
        spec = self.spec
        both = pages.index_select(0, wanted).view(2, rows * spec.num_kv_heads, -1, spec.head_size)
        return both[0], both[1]

    def _decode(self, query: Tensor, pages: Tensor, group: DecodeGroup, sinks: Tensor | None) -> Tensor:
        spec = self.spec
        key, value = self._gather(pages, group.pages, group.rows)
        out = attend(
            query.reshape(group.rows, spec.num_kv_heads, self._group, 1, spec.head_size),
            key[:, : group.length],
            value[:, : group.length],
            scale=spec.scale,
            mask=group.mask,
            soft_cap=spec.soft_cap,
            sinks=None if sinks is None else sinks.view(spec.num_kv_heads, self._group),
        )
        return out.view(query.shape)

    def _prefill(self, query: Tensor, pages: Tensor, chunk: Chunk, sinks: Tensor | None, out: Tensor) -> None:
        key, value = self._gather(pages, chunk.pages, 1)
        for tile in chunk.tiles:
            keys, values = key[:, tile.first_key : tile.last_key], value[:, tile.first_key : tile.last_key]
            if self.spec.soft_cap is None and sinks is None:
                self._fused(query, keys, values, tile, out)
            else:
                self._written_out(query, keys, values, tile, sinks, out)

    def _by_head(self, x: Tensor, start: int, stop: int) -> Tensor:
        """[tokens, heads, size] -> a view [kv_heads, group, stop - start, size]."""
        return x[start:stop].view(stop - start, self.spec.num_kv_heads, self._group, -1).permute(1, 2, 0, 3)

    def _fused(self, query: Tensor, key: Tensor, value: Tensor, tile: Tile, out: Tensor) -> None:
        shape = (-1, self._group, -1, -1)
        result = functional.scaled_dot_product_attention(
            self._by_head(query, tile.start, tile.stop),
            key.unsqueeze(1).expand(shape),
            value.unsqueeze(1).expand(shape),
            attn_mask=tile.mask,
            is_causal=tile.mask is None,
            scale=self.spec.scale,
        )
        self._by_head(out, tile.start, tile.stop).copy_(result)

    def _written_out(
        self, query: Tensor, key: Tensor, value: Tensor, tile: Tile, sinks: Tensor | None, out: Tensor
    ) -> None:
        length = tile.last_key - tile.first_key
        for start in range(tile.start, tile.stop, EXPLICIT_TILE):
            stop = min(start + EXPLICIT_TILE, tile.stop)
            low, high = start - tile.start, stop - tile.start
            keys = length if tile.mask is not None else high
            result = attend(
                self._by_head(query, start, stop).unsqueeze(0),
                key[:, :keys],
                value[:, :keys],
                scale=self.spec.scale,
                mask=_causal(low, high, query) if tile.mask is None else tile.mask[low:high].to(wide(query.dtype)),
                soft_cap=self.spec.soft_cap,
                sinks=None if sinks is None else sinks.view(self.spec.num_kv_heads, self._group),
            )
            self._by_head(out, start, stop).copy_(result[0])


def _causal(low: int, high: int, query: Tensor) -> Tensor:
    """Queries low to high against keys 0 to high."""
    unseen = torch.ones(high - low, high, dtype=torch.bool, device=query.device).triu_(low + 1)
    return torch.zeros(high - low, high, dtype=wide(query.dtype), device=query.device).masked_fill_(unseen, -torch.inf)
