"""Full and sliding-window attention over a paged cache."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet_platform_cpu.attention.explicit import attend, wide
from kernelet_platform_cpu.attention.metadata import Chunk, DecodeGroup, StepMetadata, plan_step
from kernelet_platform_cpu.attention.paged import PagedAttention, zeroed_cache


class TorchPagedAttention(PagedAttention):
    """The cache of a layer is one tensor [block, key or value, kv_head, token, head_size].

    So a gather of (block, head) pages gives contiguous matrices [row, head][token, size], which batched products want.
    Rows with one query are computed together, padded; prompts one by one, in tiles of queries.
    """

    def __init__(self, spec: AttentionSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self._wide = wide(getattr(torch, spec.dtype))
        self._group = spec.num_heads // spec.num_kv_heads

    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Tensor:
        return zeroed_cache(spec, num_blocks, 2, spec.num_kv_heads, spec.block_size, spec.head_size)

    def build_metadata(self, batch: AttentionBatch, device: Any) -> StepMetadata:
        return plan_step(batch, self.spec, self._wide)

    def write_kv(self, key: Tensor, value: Tensor, cache: Any, metadata: Any) -> None:
        step: StepMetadata = metadata
        if step.fresh is not None:
            # what an earlier owner left behind the last token is masked, but 0 * NaN is NaN
            cache.index_fill_(0, step.fresh, 0)
        both = torch.cat((key, value), 1).view(-1, self.spec.head_size)
        cache.view(-1, self.spec.head_size).index_copy_(0, step.rows, both)

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
        """Keys in the wide dtype, and values, [rows * kv_heads, tokens, size]."""
        spec = self.spec
        both = pages.index_select(0, wanted).view(2, rows * spec.num_kv_heads, -1, spec.head_size)
        return both[0].to(self._wide), both[1]

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
            result = attend(
                self._by_head(query, tile.start, tile.stop).unsqueeze(0),
                key[:, tile.first_key : tile.last_key],
                value[:, tile.first_key : tile.last_key],
                scale=self.spec.scale,
                mask=tile.mask,
                soft_cap=self.spec.soft_cap,
                sinks=None if sinks is None else sinks.view(self.spec.num_kv_heads, self._group),
            )
            self._by_head(out, tile.start, tile.stop).copy_(result[0])

    def _by_head(self, x: Tensor, start: int, stop: int) -> Tensor:
        """[tokens, heads, size] -> a view [kv_heads, group, stop - start, size]."""
        return x[start:stop].view(stop - start, self.spec.num_kv_heads, self._group, -1).permute(1, 2, 0, 3)
