"""One layer's attention of a step: which kernels are launched, with what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kernelet_attention_triton import configurations
from kernelet_attention_triton.configurations import Configuration, LayerShape
from kernelet_attention_triton.device.attend import JOINED, PARTS, WHOLE, attend, merge
from kernelet_device_triton.targets import INTERPRETER, Target

if TYPE_CHECKING:
    from kernelet_attention_triton.attention import TritonAttention
    from kernelet_attention_triton.cache import Cache
    from kernelet_attention_triton.plan import RecordedMetadata, StepMetadata, Tiles

INVARIANT_SEGMENT = 512
"""Keys of a segment in batch-invariant mode, whatever the batch."""


class Launch:
    """Of one layer and step.

    Attributes:
        result: [tokens, num_heads, value_size], filled by the launches.

    Args:
        layer: The layer's.
        target: Where it runs.
        query: [tokens, num_heads, head_size], the heads of a token one after the other.
        cache: The layer's.
        step: The group's.
        sinks: [num_heads], where the layer has them.
    """

    def __init__(
        self,
        layer: TritonAttention,
        target: Target,
        query: Tensor,
        cache: Cache,
        step: StepMetadata | RecordedMetadata,
        sinks: Tensor | None,
    ) -> None:
        spec = layer.spec
        self._layer, self._query, self._cache, self._step = layer, query, cache, step
        self.result = query.new_empty(*query.shape[:2], spec.value_size)
        self._sinks = self.result if sinks is None else sinks
        shape = LayerShape.of(spec, query.element_size())
        self._shape = {
            "num_kv_heads": spec.num_kv_heads,
            "group": shape.group,
            "value_size": spec.value_size,
            "block_d": shape.block_d,
            "has_window": spec.window is not None,
            "has_sinks": spec.sinks,
        }
        self._over = {
            "head_size": spec.head_size,
            "block_r": shape.block_r,
            "block_size": spec.block_size,
            "element": layer.element,
            "native": target.converts_e4m3fn or target == INTERPRETER,
            "is_latent": shape.is_latent,
            "has_cap": spec.soft_cap is not None,
            "has_tree": step.masks is not None,
        }

    def of_short(self, chosen: Configuration) -> None:
        """Requests with few tokens: in segments, as many as the device needs."""
        tiles = self._step.short(chosen.queries)
        if tiles is not None:
            self._split(tiles, chosen, self._segment(tiles, chosen))

    def of_long(self, chosen: Configuration) -> None:
        """The others: in segments too, unless there are so many of them that each fits one program."""
        tiles = self._step.long(chosen.queries)
        if tiles is None:
            return
        if self._layer.is_invariant:
            self._attend(tiles, chosen, INVARIANT_SEGMENT, 1, (self.result, self.result), JOINED)
        else:
            self._split(tiles, chosen, self._segment(tiles, chosen))

    def _programs(self, tiles: Tiles, chosen: Configuration) -> tuple[int, int]:
        return len(tiles.table), self._layer.spec.num_kv_heads * -(-self._shape["group"] // chosen.share)

    def _segment(self, tiles: Tiles, chosen: Configuration) -> int:
        if self._layer.is_invariant:
            return INVARIANT_SEGMENT
        window, device = self._layer.spec.window, self._query.device
        seen = tiles.longest if window is None else min(tiles.longest, window + chosen.block_m)
        number, per_tile = self._programs(tiles, chosen)
        wanted, least = 16, chosen.block_n
        if device.type != "cpu":
            wanted, least = 2 * torch.cuda.get_device_properties(device).multi_processor_count, 4 * chosen.block_n
        return configurations.segment_of(seen, number * per_tile, wanted, chosen.block_n, least)

    def _split(self, tiles: Tiles, chosen: Configuration, segment: int) -> None:
        """Each tile in a program a segment; in one program, if there is one segment."""
        number = -(-tiles.longest // segment)
        if number == 1:
            self._attend(tiles, chosen, 0, 1, (self.result, self.result), WHOLE)
            return
        spec = self._layer.spec
        kept = (len(tiles.table) * tiles.most, spec.num_heads, number)
        sums = self._query.new_empty(*kept, spec.value_size, dtype=torch.float32)
        stats = self._query.new_empty(*kept, 2, dtype=torch.float32)
        self._attend(tiles, chosen, segment, number, (sums, stats), PARTS)
        merge[self._programs(tiles, chosen)](
            sums,
            stats,
            self._sinks,
            tiles.table,
            self.result,
            self._layer.scales[1],
            spec.window or 0,
            segment,
            number,
            tiles.most,
            share=chosen.share,
            block_m=chosen.block_m,
            num_warps=chosen.num_warps,
            enable_fp_fusion=not self._layer.is_invariant,
            **self._shape,
        )

    def _attend(
        self,
        tiles: Tiles,
        chosen: Configuration,
        segment: int,
        number: int,
        parts: tuple[Tensor, Tensor],
        mode: Any,
    ) -> None:
        spec, step = self._layer.spec, self._step
        key_scale, value_scale = self._layer.scales
        attend[*self._programs(tiles, chosen), number](
            self._query,
            self._cache[0],
            self._cache[-1],
            self._sinks,
            step.blocks,
            tiles.table,
            step.blocks if step.masks is None else step.masks,
            step.blocks if step.places is None else step.places,
            self.result,
            *parts,
            self._query.stride(0),
            step.blocks.stride(0),
            spec.scale * key_scale,
            value_scale,
            1.0 if spec.soft_cap is None else spec.soft_cap,
            spec.window or 0,
            segment,
            number,
            tiles.most,
            share=chosen.share,
            block_m=chosen.block_m,
            block_n=chosen.block_n,
            mode=mode.value,
            num_warps=chosen.num_warps,
            num_stages=chosen.num_stages,
            enable_fp_fusion=not self._layer.is_invariant,
            **self._shape,
            **self._over,
        )
