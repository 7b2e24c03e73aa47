"""Weights to integers: the nearest ones, with scales that just hold the largest value."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

LARGEST_INT8 = 127
LARGEST_UINT4 = 15
LARGEST_INT4 = 7
"""-8 is not used: zero stays in the middle."""


def to_int8(weight: Tensor) -> dict[str, Tensor]:
    """[out, in] -> int8 weights and float32 scales [out, 1], symmetric."""
    values = weight.float()
    scales = _scales(values.abs().amax(1, keepdim=True) / LARGEST_INT8)
    return {"weight": (values / scales).round_().to(torch.int8), "scales": scales}


def to_int4(weight: Tensor, group_size: int, *, zero_points: bool) -> dict[str, Tensor]:
    """[out, in] -> 4-bit weights and float32 scales [out, groups]; the last group may be smaller.

    Args:
        weight: [out, in].
        group_size: Weights along the input axis that share a scale.
        zero_points: Weights are 0 to 15 (uint8) from the smallest to the largest of a group, and zero points float32;
            else -7 to 7 (int8).
    """
    rows, columns = weight.shape
    groups = -(-columns // group_size)
    padded = functional.pad(weight.float()[:, None], (0, groups * group_size - columns), "replicate")
    values = padded.view(rows, groups, group_size)
    if not zero_points:
        scales = _scales(values.abs().amax(2) / LARGEST_INT4)
        whole = (values / scales[..., None]).round_().to(torch.int8)
        return {"weight": whole.view(rows, -1)[:, :columns].contiguous(), "scales": scales}
    low = values.amin(2)
    scales = _scales((values.amax(2) - low) / LARGEST_UINT4)
    whole = ((values - low[..., None]) / scales[..., None]).round_().to(torch.uint8)
    return {
        "weight": whole.view(rows, -1)[:, :columns].contiguous(),
        "scales": scales,
        "zero_points": -low / scales,
    }


def _scales(scales: Tensor) -> Tensor:
    """Groups of zeros, and of values too small for a normal scale, have the scale 1 and are 0."""
    return scales.masked_fill(scales < torch.finfo(torch.float32).tiny, 1.0)
