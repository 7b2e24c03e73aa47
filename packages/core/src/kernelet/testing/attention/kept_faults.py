"""Attention that is wrong over caches of other dtypes than the layer's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from kernelet.testing.attention.kept import LARGEST, SlowKept, encode, magnitudes


class SwapsScales(SlowKept):
    def set_cache_scales(self, key: float, value: float) -> None:
        super().set_cache_scales(value, key)


class CutsOff(SlowKept):
    """Takes the element towards zero instead of the nearest."""

    def encode(self, rows: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        _, scales = encode(rows, self.spec, scale)
        over = (rows.double() / scales[..., None].double().masked_fill(scales[..., None] == 0, 1.0)).contiguous()
        if self.spec.cache_dtype == "int8":
            return over.nan_to_num(0.0).trunc(), scales
        table = magnitudes()
        below = (torch.searchsorted(table, over.abs().nan_to_num(0.0), right=True) - 1).clamp(0, len(table) - 1)
        return torch.copysign(table[below].masked_fill(over.isnan(), torch.nan), over), scales


class Overflows(SlowKept):
    """What is too large becomes NaN, as of a cast that does not saturate."""

    def encode(self, rows: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        elements, scales = super().encode(rows, scale)
        limit = LARGEST[self.spec.cache_dtype] * 1.04
        is_too_large = rows.double().abs() > limit * scales[..., None].double()
        return elements.masked_fill(is_too_large, torch.nan), scales


class OneScaleForAll(SlowKept):
    """One scale of all heads of a token."""

    def encode(self, rows: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        if self.spec.cache_scales == "tensor":
            return super().encode(rows, scale)
        elements, scales = encode(rows.flatten(1), self.spec, scale)
        return elements.view(rows.shape), scales[:, None].expand(rows.shape[:-1])


class LosesNaN(SlowKept):
    def encode(self, rows: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        return super().encode(rows.masked_fill(rows.isnan(), 0.0), scale)


class LeavesScales(SlowKept):
    """Copies the elements of a block without their scales."""

    def copy_blocks(self, cache: Any, sources: Sequence[int], destinations: Sequence[int]) -> None:
        super().copy_blocks(cache[0] if isinstance(cache, list) else cache, sources, destinations)


KEPT_PLANTED: tuple[tuple[str, type[Any], str], ...] = (
    ("swaps-scales-of-keys-and-values", SwapsScales, "must be computed with as they were stored, as e4m3fn:tensor"),
    ("cuts-elements-off", CutsOff, "that is nearest, ties to even"),
    ("does-not-saturate", Overflows, "what is too large for e4m3fn must become its largest number"),
    ("shares-a-scale-among-heads", OneScaleForAll, "each token and head must have a scale of its own"),
    ("loses-nan", LosesNaN, "must come back as NaN, to those that see it"),
    ("copies-no-scales", LeavesScales, "copy_blocks() must copy whole blocks"),
)
"""Name, attention, and what the suite says of it."""
