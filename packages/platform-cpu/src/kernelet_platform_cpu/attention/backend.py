"""Full and sliding-window attention over a paged cache."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet_platform_cpu.attention.explicit import attend, wide
from kernelet_platform_cpu.attention.forms import KEPT
from kernelet_platform_cpu.attention.metadata import QUERIES, StepMetadata, Tile, plan_step, span_keys
from kernelet_platform_cpu.attention.paged import PagedAttention


class TorchPagedAttention(PagedAttention):
    """The cache of a layer is one tensor [block, key or value, kv_head, token, head_size], and one of scales where each
    token and head has its own; elements of 8 bits are widened when they are gathered.

    So a gather of (block, head) pages gives contiguous matrices [span, head][token, size], which batched products want.
    A token is computed in the tile of queries that its position lies in, padded, over whole spans of keys: sizes and
    places in memory are the same in every batch and chunk, and so are its bits.
    """

    def __init__(self, spec: AttentionSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self._wide = wide(getattr(torch, spec.dtype))
        self._group = spec.num_heads // spec.num_kv_heads
        self._kept = KEPT[spec.cache_form](spec, self._wide)

    def set_cache_scales(self, key: float, value: float) -> None:
        self._kept.scales = (key, value)

    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Any:
        return self._kept.allocate(spec, num_blocks)

    def parts_of(self, cache: Any) -> tuple[Tensor, ...]:
        return self._kept.parts(cache)

    def native_layout(self) -> str:
        return self.describe_page("kernelet-cpu torch 1: [key, value][kv_head][token][size], scales alike")

    def build_metadata(self, batch: AttentionBatch, device: Any) -> StepMetadata:
        return plan_step(batch, self.spec, self._wide)

    def write_kv(self, key: Tensor, value: Tensor, cache: Any, metadata: Any) -> None:
        step: StepMetadata = metadata
        if step.fresh is not None:
            # what an earlier owner left behind the last token is masked, but 0 * NaN is NaN
            self._kept.clear(cache, step.fresh)
        self._kept.write(cache, step.rows, torch.cat((key, value), 1))

    def forward(self, query: Tensor, cache: Any, metadata: Any, sinks: Tensor | None = None) -> Tensor:
        step: StepMetadata = metadata
        spec = self.spec
        wide_sinks = None if sinks is None else sinks.view(spec.num_kv_heads, self._group)
        out = torch.empty(query.shape, dtype=query.dtype, device=query.device)
        for part in step.parts:
            both = self._kept.read(cache, part.pages)
            key, value = both.view(2, -1, spec.num_kv_heads, span_keys(spec), spec.head_size)
            for tile in part.tiles:
                result = attend(
                    self._whole(query, tile),
                    key[tile.first : tile.last],
                    value[tile.first : tile.last],
                    scale=spec.scale,
                    mask=tile.mask,
                    soft_cap=spec.soft_cap,
                    sinks=wide_sinks,
                )
                count = tile.stop - tile.start
                mine = result[:, :, tile.row : tile.row + count].permute(2, 0, 1, 3)
                out[tile.start : tile.stop].view(mine.shape).copy_(mine)
        return out

    def _whole(self, query: Tensor, tile: Tile) -> Tensor:
        """[tokens, heads, size] -> the tile's queries [kv_heads, group, QUERIES, size], zeros where there is none."""
        spec = self.spec
        whole = query.new_zeros(spec.num_kv_heads, self._group, QUERIES, spec.head_size, dtype=self._wide)
        mine = query[tile.start : tile.stop].view(-1, spec.num_kv_heads, self._group, spec.head_size)
        whole[:, :, tile.row : tile.row + len(mine)] = mine.permute(1, 2, 0, 3)
        return whole
