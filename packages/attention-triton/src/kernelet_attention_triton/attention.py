"""The attention of a layer: chooses configurations and launches kernels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_attention_triton import configurations
from kernelet_attention_triton.cache import Cache, CachedPages
from kernelet_attention_triton.configurations import Configuration, padded
from kernelet_attention_triton.device.attend import JOINED, PARTS, WHOLE, attend, merge
from kernelet_attention_triton.device.write import write_kv
from kernelet_attention_triton.plan import StepMetadata, Tiles
from kernelet_device_triton.device.elements import E4M3FN, INT8, PLAIN
from kernelet_device_triton.interpreter import interpreting, repair
from kernelet_device_triton.targets import INTERPRETER, Target, target_of

INVARIANT_SEGMENT = 512
"""Keys of a segment in batch-invariant mode, whatever the batch."""


class TritonAttention(CachedPages):
    """Decodes and prefills over pages; see ``device.attend`` for what is computed where."""

    def __init__(self, spec: AttentionSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        if interpreting():
            repair()
        self._scales = (1.0, 1.0)
        self._group = spec.num_heads // spec.num_kv_heads
        self._element = {"": PLAIN, "e4m3fn": E4M3FN, "int8": INT8}[spec.cache_dtype].value
        self._is_invariant = bool(settings["batch_invariant"])

    def set_cache_scales(self, key: float, value: float) -> None:
        self._scales = (key, value)

    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Cache:
        if torch.device(device).type == "cpu" and not interpreting():
            raise ConfigError(
                "attention 'triton' needs a device that its compiler knows, and there is a CPU alone: choose another "
                "with --attention-backend, or set TRITON_INTERPRET=1 before the start to interpret it, for tests"
            )
        return super().allocate_cache(spec, num_blocks, device)

    def build_metadata(self, batch: AttentionBatch, device: Any) -> StepMetadata:
        return StepMetadata(batch, torch.device(device))

    def write_kv(self, key: Tensor, value: Tensor, cache: Any, metadata: Any) -> None:
        step: StepMetadata = metadata
        spec = self.spec
        if not len(key):
            return
        key, value = _rows(key), _rows(value)
        block_r = configurations.rows_of_write(target_of(key.device), spec.head_size)
        write_kv[-(-len(key) * spec.num_kv_heads // block_r),](
            key,
            value,
            cache[0],
            cache[-1],
            step.slots,
            len(key),
            key.stride(0),
            value.stride(0),
            *self._scales,
            num_kv_heads=spec.num_kv_heads,
            head_size=spec.head_size,
            block_size=spec.block_size,
            block_r=block_r,
            block_d=padded(spec.head_size),
            element=self._element,
            enable_fp_fusion=False,
        )

    def forward(self, query: Tensor, cache: Any, metadata: Any, sinks: Tensor | None = None) -> Tensor:
        step: StepMetadata = metadata
        target = target_of(query.device)
        shape = (self.spec.head_size, query.element_size(), self._group)
        few = configurations.decode(target, *shape)
        many = few if self._is_invariant else configurations.prefill(target, *shape)
        result = torch.empty(query.shape, dtype=query.dtype, device=query.device)
        launch = _Launch(self, target, _rows(query), cache, step, sinks, result)
        short, long = step.short(few.block_m // self._group), step.long(many.block_m // self._group)
        if short is not None:
            launch.split(short, few, self._segment(short, few, query.device))
        if long is not None:
            launch.whole(long, many, INVARIANT_SEGMENT if self._is_invariant else 0)
        return result

    def _segment(self, tiles: Tiles, few: Configuration, device: torch.device) -> int:
        if self._is_invariant:
            return INVARIANT_SEGMENT
        seen = tiles.longest if self.spec.window is None else min(tiles.longest, self.spec.window + few.block_m)
        programs = len(tiles.table) * self.spec.num_kv_heads
        if device.type == "cpu":
            return configurations.segment_of(seen, programs, 16, few.block_n, few.block_n)
        wanted = 2 * torch.cuda.get_device_properties(device).multi_processor_count
        return configurations.segment_of(seen, programs, wanted, few.block_n, 4 * few.block_n)


class _Launch:
    """One layer's attention of a step."""

    def __init__(
        self,
        layer: TritonAttention,
        target: Target,
        query: Tensor,
        cache: Cache,
        step: StepMetadata,
        sinks: Tensor | None,
        result: Tensor,
    ) -> None:
        spec = layer.spec
        self.spec, self.query, self.cache, self.step, self.result = spec, query, cache, step, result
        self.sinks = result if sinks is None else sinks
        self.key_scale, self.value_scale = layer._scales  # noqa: SLF001
        self.fused = not layer._is_invariant  # noqa: SLF001
        self.shape = {
            "num_kv_heads": spec.num_kv_heads,
            "group": spec.num_heads // spec.num_kv_heads,
            "head_size": spec.head_size,
            "block_d": padded(spec.head_size),
            "has_window": spec.window is not None,
            "has_sinks": spec.sinks,
        }
        self.over = {
            "block_size": spec.block_size,
            "element": layer._element,  # noqa: SLF001
            "native": target.converts_e4m3fn or target == INTERPRETER,
            "has_cap": spec.soft_cap is not None,
        }

    def whole(self, tiles: Tiles, chosen: Configuration, segment: int) -> None:
        """Each tile in one program; in segments, if there are any."""
        self._attend(tiles, chosen, segment, 1, (self.result, self.result), JOINED if segment else WHOLE)

    def split(self, tiles: Tiles, chosen: Configuration, segment: int) -> None:
        """Each tile in a program a segment."""
        number = -(-tiles.longest // segment)
        if number == 1:
            self.whole(tiles, chosen, 0)
            return
        queries = len(tiles.table) * (chosen.block_m // self.shape["group"])
        shape = (queries, self.spec.num_heads, number)
        sums = self.query.new_empty(*shape, self.spec.head_size, dtype=torch.float32)
        stats = self.query.new_empty(*shape, 2, dtype=torch.float32)
        self._attend(tiles, chosen, segment, number, (sums, stats), PARTS)
        merge[len(tiles.table), self.spec.num_kv_heads](
            sums,
            stats,
            self.sinks,
            tiles.table,
            self.result,
            self.value_scale,
            self.spec.window or 0,
            segment,
            number,
            block_m=chosen.block_m,
            num_warps=chosen.num_warps,
            enable_fp_fusion=self.fused,
            **self.shape,
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
        spec = self.spec
        attend[len(tiles.table), spec.num_kv_heads, number](
            self.query,
            self.cache[0],
            self.cache[-1],
            self.sinks,
            self.step.blocks,
            tiles.table,
            self.result,
            *parts,
            self.query.stride(0),
            self.step.blocks.stride(0),
            spec.scale * self.key_scale,
            self.value_scale,
            1.0 if spec.soft_cap is None else spec.soft_cap,
            spec.window or 0,
            segment,
            number,
            block_m=chosen.block_m,
            block_n=chosen.block_n,
            mode=mode.value,
            num_warps=chosen.num_warps,
            num_stages=chosen.num_stages,
            enable_fp_fusion=self.fused,
            **self.shape,
            **self.over,
        )


def _rows(vectors: Tensor) -> Tensor:
    """[tokens, heads, head_size] whose heads of a token lie one after the other."""
    _, _, size = vectors.shape
    return vectors if vectors.stride()[1:] == (size, 1) else vectors.contiguous()
