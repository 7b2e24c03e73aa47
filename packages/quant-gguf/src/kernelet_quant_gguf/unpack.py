"""Blocks of bytes to canonical tensors, exactly: numbers are taken out and never computed with.

Layouts: https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from torch import Tensor

Canonical = dict[str, Tensor]


def unpack(name: str, rows: Tensor, block: int) -> Canonical:
    """Canonical tensors of a weight.

    Args:
        name: Type of the tensor.
        rows: uint8 [out, bytes of a row].
        block: Bytes of a block.
    """
    return _UNPACK[name](rows.reshape(len(rows), -1, block))


def _half(blocks: Tensor, first: int) -> Tensor:
    """The float16 at a place of each block: [out, blocks]."""
    return blocks[:, :, first : first + 2].contiguous().view(torch.float16).squeeze(-1)


def _flat(values: Tensor) -> Tensor:
    """[out, blocks, ...] -> [out, in]."""
    return values.reshape(len(values), -1)


def _nibbles(packed: Tensor) -> Tensor:
    """[..., n] -> [..., 2, n]: all low halves, then all high ones."""
    return torch.stack((packed & 15, packed >> 4), dim=-2)


def _pairs(packed: Tensor) -> Tensor:
    """[..., n] -> [..., 4, n]: the lowest two bits of each byte, then the next."""
    return torch.stack([packed >> shift & 3 for shift in (0, 2, 4, 6)], dim=-2)


def _bits(packed: Tensor) -> Tensor:
    """[..., n] -> [..., 8, n]: the lowest bit of each byte, then the next."""
    return torch.stack([packed >> shift & 1 for shift in range(8)], dim=-2)


def _signed(values: Tensor, zero: int) -> Tensor:
    return values.view(torch.int8) - zero


def _q4_0(blocks: Tensor) -> Canonical:
    weight = _signed(_flat(_nibbles(blocks[:, :, 2:])), 8)
    return {"weight": weight, "scales": _half(blocks, 0)}


def _q4_1(blocks: Tensor) -> Canonical:
    weight = _flat(_nibbles(blocks[:, :, 4:]))
    return {"weight": weight, "scales": _half(blocks, 0), "offsets": _half(blocks, 2)}


def _five(blocks: Tensor, first: int) -> Tensor:
    """Elements of five bits: four bytes with the highest bits of 32, then the others."""
    high = _bits(blocks[:, :, first : first + 4]).transpose(-1, -2).reshape(*blocks.shape[:2], 32)
    return _flat(_nibbles(blocks[:, :, first + 4 :]).flatten(-2) | high << 4)


def _q5_0(blocks: Tensor) -> Canonical:
    return {"weight": _signed(_five(blocks, 2), 16), "scales": _half(blocks, 0)}


def _q5_1(blocks: Tensor) -> Canonical:
    return {"weight": _five(blocks, 4), "scales": _half(blocks, 0), "offsets": _half(blocks, 2)}


def _q8_0(blocks: Tensor) -> Canonical:
    return {"weight": _flat(blocks[:, :, 2:]).contiguous().view(torch.int8), "scales": _half(blocks, 0)}


def _q2_k(blocks: Tensor) -> Canonical:
    scales, packed = blocks[:, :, :16], blocks[:, :, 16:80]
    return {
        "weight": _flat(_pairs(packed.unflatten(-1, (2, 32)))),
        "scales": _flat(scales & 15),
        "scales_1": _half(blocks, 80),
        "offsets": _flat(scales >> 4),
        "offsets_1": -_half(blocks, 82),
    }


def _q3_k(blocks: Tensor) -> Canonical:
    mask, packed, scales = blocks[:, :, :32], blocks[:, :, 32:96], blocks[:, :, 96:108]
    low = _flat(_pairs(packed.unflatten(-1, (2, 32))))
    weight = _signed(low | _flat(_bits(mask)) << 2, 4)
    fine = _nibbles(scales[..., :8]).flatten(-2) | _pairs(scales[..., 8:]).flatten(-2) << 4
    return {"weight": weight, "scales": _signed(_flat(fine), 32), "scales_1": _half(blocks, 108)}


def _sixes(packed: Tensor) -> tuple[Tensor, Tensor]:
    """Eight scales and eight offsets of six bits each, from twelve bytes."""
    one, two, rest = packed.unflatten(-1, (3, 4)).unbind(-2)
    scales = torch.cat((one & 63, rest & 15 | one >> 2 & 48), dim=-1)
    offsets = torch.cat((two & 63, rest >> 4 | two >> 2 & 48), dim=-1)
    return _flat(scales), _flat(offsets)


def _with_sixes(blocks: Tensor, weight: Tensor) -> Canonical:
    scales, offsets = _sixes(blocks[:, :, 4:16])
    return {
        "weight": weight,
        "scales": scales,
        "scales_1": _half(blocks, 0),
        "offsets": offsets,
        "offsets_1": -_half(blocks, 2),
    }


def _q4_k(blocks: Tensor) -> Canonical:
    return _with_sixes(blocks, _flat(_nibbles(blocks[:, :, 16:].unflatten(-1, (4, 32)))))


def _q5_k(blocks: Tensor) -> Canonical:
    low = _flat(_nibbles(blocks[:, :, 48:].unflatten(-1, (4, 32))))
    return _with_sixes(blocks, low | _flat(_bits(blocks[:, :, 16:48])) << 4)


def _q6_k(blocks: Tensor) -> Canonical:
    low = _flat(_nibbles(blocks[:, :, :128].unflatten(-1, (2, 64))))
    high = _flat(_pairs(blocks[:, :, 128:192].unflatten(-1, (2, 32))))
    scales = _flat(blocks[:, :, 192:208]).contiguous().view(torch.int8)
    return {"weight": _signed(low | high << 4, 32), "scales": scales, "scales_1": _half(blocks, 208)}


_UNPACK: Mapping[str, Callable[[Tensor], Canonical]] = MappingProxyType(
    {
        "Q4_0": _q4_0,
        "Q4_1": _q4_1,
        "Q5_0": _q5_0,
        "Q5_1": _q5_1,
        "Q8_0": _q8_0,
        "Q2_K": _q2_k,
        "Q3_K": _q3_k,
        "Q4_K": _q4_k,
        "Q5_K": _q5_k,
        "Q6_K": _q6_k,
    }
)
