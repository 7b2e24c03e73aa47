"""Rounds weights to 4 bits in groups."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

TOP = 15
SMALLEST = 1e-6
"""Of scales: float16 has 4 bits of it left."""


class Rounded(NamedTuple):
    """A weight of the format: ``(values - zeros) * scales``.

    Attributes:
        values: float32 [out, groups, size], whole numbers from 0 to 15.
        zeros: float32 [out, groups, 1], likewise.
        scales: float32 [out, groups, 1], numbers of float16.
    """

    values: Tensor
    zeros: Tensor
    scales: Tensor

    def weight(self) -> Tensor:
        """float32 [out, in]: what it stands for."""
        return ((self.values - self.zeros) * self.scales).flatten(1)


def in_groups(weight: Tensor, group_size: int) -> Tensor:
    """[out, in] -> [out, groups, size]; -1 is one group."""
    rows, columns = weight.shape
    return weight.reshape(rows, -1, columns if group_size == -1 else group_size)


def round_weight(weight: Tensor, group_size: int, low: Tensor | None = None, high: Tensor | None = None) -> Rounded:
    """The nearest of 16 values from the smallest to the largest of each group.

    Args:
        weight: float32 [out, in].
        group_size: -1: all inputs.
        low: [out, groups, 1]: values below are taken for this; None: the smallest.
        high: Likewise above; None: the largest.
    """
    groups = in_groups(weight, group_size)
    low = (groups.amin(2, keepdim=True) if low is None else low).clamp(max=0)
    high = (groups.amax(2, keepdim=True) if high is None else high).clamp(min=0)
    scales = ((high - low) / TOP).clamp(min=SMALLEST).half().float()
    zeros = (-low / scales).round().clamp(0, TOP)
    values = ((groups / scales).round() + zeros).clamp(0, TOP)
    return Rounded(values, zeros, scales)


def row_errors(error: Tensor, moment: Tensor) -> Tensor:
    """[out]: the mean square of what inputs with this second moment make of a weight's error [out, in]."""
    return ((error @ moment) * error).sum(1).clamp(min=0)


def block_moments(moment: Tensor, group_size: int) -> Tensor:
    """[in, in] -> [groups, size, size]: of the inputs of each group."""
    size = len(moment) if group_size == -1 else group_size
    count = len(moment) // size
    every = torch.arange(count)
    return moment.view(count, size, count, size)[every, :, every, :]
