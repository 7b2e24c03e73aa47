"""Weights to the nearest fp8 numbers."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

LARGEST = 448.0


def round_weight(weight: Tensor, block: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """[out, in], finite -> float8_e4m3fn [out, in] and float32 scales [blocks] that just hold the largest.

    Args:
        weight: [out, in].
        block: Elements a scale covers as (out, in); 0 means the whole axis.
    """
    rows, columns = weight.shape
    height, width = block[0] or rows, block[1] or columns
    values = functional.pad(weight.float(), (0, -columns % width, 0, -rows % height))
    values = values.view(-1, height, values.shape[1] // width, width)
    scales = values.abs().amax((1, 3)) / LARGEST
    scales = scales.masked_fill(scales < torch.finfo(torch.float32).tiny, 1.0)
    whole = (values / scales[:, None, :, None]).clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn)
    return whole.view(len(scales) * height, -1)[:rows, :columns].contiguous(), scales
