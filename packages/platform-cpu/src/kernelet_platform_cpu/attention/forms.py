"""What keys and values are kept in: elements of the layer's dtype, or of 8 bits with scales; in torch."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet_platform_cpu.attention.paged import zeroed_cache

FORMS = ("", "e4m3fn:tensor", "int8:token_head")
"""Of ``AttentionSpec.cache_form``, in the order of the extension's ``CacheForm``."""

LARGEST_E4M3FN = 448.0
LARGEST_INT8 = 127.0


class Plain:
    """Elements of the layer's dtype, one tensor [block, key or value, kv_head, token, head_size].

    Attributes:
        kept: Dtype of the tensor.
        wide: Dtype of sums.
        scales: Of keys and of values, where the form has those of a tensor.
    """

    def __init__(self, spec: AttentionSpec, wide: torch.dtype) -> None:
        self.kept: torch.dtype = getattr(torch, spec.dtype)
        self.wide = wide
        self.scales = (1.0, 1.0)

    def allocate(self, spec: FullAttentionSpec, num_blocks: int) -> Any:
        shape = (2, spec.num_kv_heads, spec.block_size, spec.head_size)
        return zeroed_cache(spec, num_blocks, *shape, dtype=self.kept)

    def clear(self, cache: Any, blocks: Tensor) -> None:
        """Zeros in some blocks."""
        cache.index_fill_(0, blocks, 0)

    def write(self, cache: Any, rows: Tensor, both: Tensor) -> None:
        """Keys, then values, [tokens, 2 * kv_heads, head_size], to rows of a head and token."""
        _put(cache, rows, both.flatten(0, 1))

    def parts(self, cache: Any) -> tuple[Tensor, ...]:
        """Keys, values, and scales where tokens have their own, as views [block, token, kv_head, width]."""
        key, value = cache.transpose(2, 3).unbind(1)
        return key, value

    def read(self, cache: Any, pages: Tensor) -> Tensor:
        """Pages, of keys, then as many of values -> [page, token, head_size], wide."""
        return _pages(cache, pages).to(self.wide)


class E4M3FN(Plain):
    """The bits of 8-bit floats; a scale of all keys and one of all values."""

    def __init__(self, spec: AttentionSpec, wide: torch.dtype) -> None:
        super().__init__(spec, wide)
        self.kept = torch.uint8

    def write(self, cache: Any, rows: Tensor, both: Tensor) -> None:
        over = (both.to(self.wide) / self._scales(both.shape[1])).float().clamp_(-LARGEST_E4M3FN, LARGEST_E4M3FN)
        _put(cache, rows, over.to(torch.float8_e4m3fn).view(torch.uint8).flatten(0, 1))

    def read(self, cache: Any, pages: Tensor) -> Tensor:
        bits = _pages(cache, pages).view(torch.float8_e4m3fn)
        return bits.float().to(self.wide) * self._scales(len(pages))[..., None]

    def _scales(self, count: int) -> Tensor:
        """[count, 1]: the first half is of keys."""
        return torch.tensor(self.scales).to(self.wide).repeat_interleave(count // 2)[:, None]


class Int8(Plain):
    """Two tensors, elements and float32 scales [block, key or value, kv_head, token].

    A row that is not finite has the scale NaN; of one whose scale would be no normal number, all is 0.
    """

    def __init__(self, spec: AttentionSpec, wide: torch.dtype) -> None:
        super().__init__(spec, wide)
        self.kept = torch.int8

    def allocate(self, spec: FullAttentionSpec, num_blocks: int) -> Any:
        shape = (2, spec.num_kv_heads, spec.block_size)
        scales = zeroed_cache(spec, num_blocks, *shape, dtype=torch.float32)
        return super().allocate(spec, num_blocks), scales

    def clear(self, cache: Any, blocks: Tensor) -> None:
        for part in cache:
            part.index_fill_(0, blocks, 0)

    def write(self, cache: Any, rows: Tensor, both: Tensor) -> None:
        elements, scales = to_int8(both.flatten(0, 1).to(self.wide))
        _put(cache[0], rows, elements)
        cache[1].view(-1).index_copy_(0, rows, scales)

    def parts(self, cache: Any) -> tuple[Tensor, ...]:
        elements, scales = cache
        return (*super().parts(elements), *super().parts(scales[..., None]))

    def read(self, cache: Any, pages: Tensor) -> Tensor:
        elements, scales = (_pages(part, pages).to(self.wide) for part in cache)
        return elements * scales[..., None]


KEPT: Mapping[str, type[Plain]] = MappingProxyType(dict(zip(FORMS, (Plain, E4M3FN, Int8), strict=True)))


def to_int8(rows: Tensor) -> tuple[Tensor, Tensor]:
    """[rows, size], wide -> int8 elements, and the float32 scale of each row."""
    scales = (rows.abs().amax(-1) / LARGEST_INT8).float()
    scales = scales.masked_fill(scales < torch.finfo(torch.float32).tiny, 0.0)
    scales = scales.masked_fill(~(rows.isfinite().all(-1) & scales.isfinite()), torch.nan)
    has = scales > 0
    over = (rows / scales.masked_fill(~has, 1.0)[:, None]).float().masked_fill(~has[:, None], 0.0)
    return over.round_().clamp_(-LARGEST_INT8, LARGEST_INT8).to(torch.int8), scales


def _pages(cache: Tensor, pages: Tensor) -> Tensor:
    return cache.flatten(0, 2).index_select(0, pages)


def _put(cache: Tensor, rows: Tensor, elements: Tensor) -> None:
    cache.view(-1, elements.shape[-1]).index_copy_(0, rows, elements)
