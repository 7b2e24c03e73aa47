"""Keys and values as a cache keeps them in another dtype than the layer's, slow and obvious."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.kv_pages import KVRegion
from kernelet.contracts.offer import Settings
from kernelet.testing.attention.reference import NO_SETTINGS, SlowAttention, num_vectors

FORMS = ("e4m3fn:tensor", "int8:token_head")
"""Those that the suite knows, as ``AttentionOffer.cache_dtypes`` names them."""

LARGEST = {"e4m3fn": 448.0, "int8": 127.0}
SCALES = (0.021, 0.6)
"""Of keys and of values, where a form has those of a tensor: no powers of two, and not alike."""


def changes_of(form: str) -> dict[str, str]:
    """The form as fields of a spec; empty: the layer's own dtype."""
    cache_dtype, _, cache_scales = form.partition(":")
    return {"cache_dtype": cache_dtype, "cache_scales": cache_scales} if form else {}


def magnitudes() -> Tensor:
    """float64 [127], ascending: what the bits 0 to 126 of an e4m3fn are; there is a sign before, and 127 is NaN."""
    bits = range(127)
    values = [(b & 7) * 2.0**-9 if b < 8 else (8 + (b & 7)) * 2.0 ** ((b >> 3) - 10) for b in bits]
    return torch.tensor(values, dtype=torch.float64)


def nearest(x: Tensor, element: str) -> Tensor:
    """float64: the number of the element type that is nearest to each of a float32 tensor.

    Of two that are equally near the one with an even last bit; what is too large becomes the largest; NaN stays.
    """
    size = x.double().abs().clamp(max=LARGEST[element])
    if element == "int8":
        return torch.copysign(size.round(), x.double())
    table = magnitudes()
    above = torch.searchsorted(table, size.nan_to_num(0.0).contiguous()).clamp(max=126)
    below = (above - 1).clamp(min=0)
    up, down = table[above] - size, size - table[below]
    is_below = (down < up) | ((down == up) & (below % 2 == 0))
    found = torch.where(is_below, table[below], table[above])
    return torch.copysign(found.masked_fill(x.isnan(), torch.nan), x.double())


def scales_of(x: Tensor, element: str) -> Tensor:
    """float32, of the last axis: its largest magnitude over the largest number; NaN where that is not finite.

    0 where it would be below the normal numbers.
    """
    wide = x.float() if x.dtype.itemsize < 4 else x
    scales = (wide.abs().amax(-1) / LARGEST[element]).float()
    scales[~(wide.isfinite().all(-1) & scales.isfinite())] = torch.nan
    scales[scales < torch.finfo(torch.float32).tiny] = 0.0
    return scales


def encode(x: Tensor, spec: AttentionSpec, scale: float) -> tuple[Tensor, Tensor]:
    """[..., size] -> elements as float64, and the float32 scale of each row.

    Args:
        x: In the layer's dtype.
        spec: Says the form.
        scale: That of a tensor.
    """
    wide = x.float() if x.dtype.itemsize < 4 else x
    if spec.cache_scales == "tensor":
        scales = torch.full(x.shape[:-1], scale, dtype=torch.float32)
    else:
        scales = scales_of(x, spec.cache_dtype)
    over = (wide / scales[..., None].to(wide.dtype)).float()
    no_elements = (scales[..., None] == 0) | scales[..., None].isnan()
    return nearest(over.masked_fill(no_elements, 0.0), spec.cache_dtype), scales


def kept(x: Tensor, spec: AttentionSpec, scale: float) -> Tensor:
    """float64: what a cache gives back of keys or values; the same numbers where it keeps them as they are."""
    if not spec.cache_form:
        return x.double()
    elements, scales = encode(x.cpu(), spec, scale)
    return elements * scales[..., None].double()


class SlowKept(SlowAttention):
    """Also over caches of other dtypes: a list of the elements' bits, uint8, and of scales."""

    def __init__(self, spec: AttentionSpec, settings: Settings = NO_SETTINGS) -> None:
        super().__init__(spec, settings)
        self.scales = (1.0, 1.0)

    def set_cache_scales(self, key: float, value: float) -> None:
        self.scales = (key, value)

    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Any:
        if not self.spec.cache_form:
            return super().allocate_cache(spec, num_blocks, device)
        shape = (num_vectors(spec), num_blocks, spec.block_size, spec.num_kv_heads)
        elements = torch.zeros(*shape, spec.head_size, dtype=torch.uint8, device=device)
        return [elements, *([torch.zeros(shape, device=device)] if self.spec.cache_scales == "token_head" else ())]

    def copy_blocks(self, cache: Any, sources: Sequence[int], destinations: Sequence[int]) -> None:
        for part in cache if isinstance(cache, list) else [cache]:
            super().copy_blocks(part, sources, destinations)

    def export_pages(self, cache: Any, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        if not self.spec.cache_form:
            return super().export_pages(cache, block_ids, start, end)
        elements, *scales = (super(SlowKept, self).export_pages(part, block_ids, start, end) for part in cache)
        dtype = getattr(torch, self.spec.cache_parts[0].dtype)
        return (*(part.view(dtype) for part in elements), *(part[..., None] for both in scales for part in both))

    def import_pages(self, cache: Any, block_ids: Sequence[int], start: int, parts: Sequence[Tensor]) -> None:
        if not self.spec.cache_form:
            super().import_pages(cache, block_ids, start, parts)
            return
        vectors = len(cache[0])
        super().import_pages(cache[0], block_ids, start, [part.view(torch.uint8) for part in parts[:vectors]])
        if len(cache) > 1:
            super().import_pages(cache[1], block_ids, start, [part[..., 0] for part in parts[vectors:]])

    def regions(self, cache: Any) -> tuple[KVRegion, ...]:
        held = cache if isinstance(cache, list) else [cache]
        return tuple(region for part in held for region in super(SlowKept, self).regions(part))

    def write_kv(self, key: Tensor, value: Tensor, cache: Any, metadata: AttentionBatch) -> None:
        if not self.spec.cache_form:
            super().write_kv(key, value, cache, metadata)
            return
        rows, blocks, offsets = self.slots(metadata)
        for index, vectors in enumerate((key, value)[: len(cache[0])]):
            elements, scales = self.encode(vectors[rows], self.scales[index])
            cache[0][index][blocks, offsets] = to_bits(elements, self.spec.cache_dtype)
            if self.spec.cache_scales == "token_head":
                cache[1][index][blocks, offsets] = scales

    def encode(self, rows: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        """See the function."""
        return encode(rows, self.spec, scale)

    def seen(self, cache: Any, table: np.ndarray[Any, Any], length: int, queries: int) -> tuple[Tensor, Tensor]:
        if not self.spec.cache_form:
            return super().seen(cache, table, length, queries)
        key, value = (from_bits(part, self.spec.cache_dtype) for part in super().seen(cache[0], table, length, queries))
        if self.spec.cache_scales == "tensor":
            scales = torch.tensor(self.scales).double()
            return key * scales[0], value * scales[len(cache[0]) - 1]
        key_scales, value_scales = super().seen(cache[1], table, length, queries)
        return key * key_scales[..., None].double(), value * value_scales[..., None].double()


def to_bits(elements: Tensor, element: str) -> Tensor:
    """float64 numbers of the element type -> uint8."""
    if element == "int8":
        return elements.to(torch.int8).view(torch.uint8)
    bits = torch.searchsorted(magnitudes(), elements.abs().nan_to_num(0.0).contiguous())
    bits = bits.masked_fill(elements.isnan(), 127) + 128 * elements.signbit()
    return bits.to(torch.uint8)


def from_bits(bits: Tensor, element: str) -> Tensor:
    """uint8 -> float64."""
    if element == "int8":
        return bits.view(torch.int8).double()
    table = torch.cat((magnitudes(), torch.tensor([torch.nan], dtype=torch.float64)))
    sizes = table[(bits & 127).long()]
    return torch.where(bits > 127, -sizes, sizes)
