"""Scales and zero points of groups of weights."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

SMALLEST = 1e-6
"""Of scales: float16 has 4 bits of it left."""


class Grid(NamedTuple):
    """What the weights of one group may be: ``(value - zero) * scale`` for whole values from 0 to ``top``.

    Attributes:
        scale: float32 [out, 1], numbers of float16.
        zero: float32 [out, 1], whole numbers from 1 to ``top``.
        top: The largest value.
    """

    scale: Tensor
    zero: Tensor
    top: int

    def nearest(self, weight: Tensor) -> Tensor:
        """[out, n] -> whole values."""
        return ((weight / self.scale).round() + self.zero).clamp(0, self.top)

    def weight(self, values: Tensor) -> Tensor:
        """Whole values -> float32 weights."""
        return (values - self.zero) * self.scale


def find_grid(weight: Tensor, bits: int, *, symmetric: bool) -> Grid:
    """The grid from the smallest to the largest of each row of a group [out, size].

    A zero point is at least 1: the format stores it less one, and readers differ in what they make of -1.
    """
    top = 2**bits - 1
    low, high = weight.amin(1, keepdim=True).clamp(max=0), weight.amax(1, keepdim=True).clamp(min=0)
    if symmetric:
        largest = torch.maximum(-low, high)
        scale = _stored(2 * largest / top)
        return Grid(scale, torch.full_like(scale, (top + 1) // 2), top)
    scale = _stored((high - low) / top)
    zero = (-low / scale).round().clamp(0, top)
    scale = torch.where(zero < 1, _stored(high / (top - 1)), scale)
    return Grid(scale, zero.clamp(min=1), top)


def _stored(scale: Tensor) -> Tensor:
    return scale.clamp(min=SMALLEST).half().float()
