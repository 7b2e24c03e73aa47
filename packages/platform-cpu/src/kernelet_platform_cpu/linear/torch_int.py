"""Weights of 2 to 8 bits in torch, for installations without the extension."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

from kernelet.contracts.op import Role, Support, WeightKernel, WeightScheme
from kernelet_platform_cpu.linear.integers import Integers, integers, supports
from kernelet_platform_cpu.native import DTYPES

TILE = 16
"""Rows of a product, whatever the batch: the order of sums depends on the shape."""


class TorchInt(WeightKernel):
    """Keeps the integers, and dequantizes them in every call. Correct, and slow."""

    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        if dtype not in DTYPES:
            return Support(ok=False, reason=f"takes {', '.join(DTYPES)}, not {dtype}")
        return supports(scheme, shape)

    def prepare(self, weights: Mapping[str, Tensor]) -> Integers:
        return integers(weights, self.scheme)

    def apply(self, x: Tensor, prepared: Integers, bias: Tensor | None) -> Tensor:
        """linear: in the dtype of x. embedding: float32."""
        if self.role != "embedding":
            return self._multiply(x, prepared, 0, bias)
        found = dequantize(prepared, 0, torch.float32, x)
        if prepared.permutation is None:
            return found
        return torch.empty_like(found).index_copy_(1, prepared.permutation[0], found)

    def apply_grouped(self, x: Tensor, prepared: Integers, expert: int) -> Tensor:
        return self._multiply(x, prepared, expert, None)

    def _multiply(self, x: Tensor, prepared: Integers, expert: int, bias: Tensor | None) -> Tensor:
        wide = x.to(torch.float64 if x.dtype is torch.float64 else torch.float32)
        if prepared.permutation is not None:
            wide = wide.index_select(1, prepared.permutation[expert])
        scale = torch.ones(len(x), 1, dtype=wide.dtype)
        if self.scheme.activation is not None:
            wide, scale = rounded(wide, prepared.input_scales[expert])
        weight = dequantize(prepared, expert, wide.dtype)
        y = _in_tiles(wide, weight) * scale
        return (y if bias is None else y + bias).to(x.dtype)


def dequantize(given: Integers, expert: int, dtype: torch.dtype, rows: Tensor | None = None) -> Tensor:
    """The weight of an expert, or some of its rows."""
    zeros = None if given.zeros is None else given.zeros[expert]
    elements, scales = given.elements[expert], given.scales[expert]
    if rows is not None:
        elements, scales = elements[rows], scales[rows]
        zeros = None if zeros is None else zeros[rows]
    values = (elements.view(torch.int8) if given.origin else elements).to(dtype)

    def spread(by_group: Tensor) -> Tensor:
        return by_group.to(dtype).repeat_interleave(given.group, 1)[:, : values.shape[1]]

    if zeros is not None:
        values -= spread(zeros) - given.origin
    return values.mul_(spread(scales))


def rounded(x: Tensor, fixed: Tensor) -> tuple[Tensor, Tensor]:
    """Inputs over a scale, rounded to int8 without -128, and the scales [rows, 1].

    Args:
        x: float32 or float64 [rows, in].
        fixed: The scale; 0: each row has its own, and one that is not finite becomes NaN.
    """
    largest = x.abs().amax(1, keepdim=True)
    scale = fixed.to(x.dtype) + largest * 0 if fixed > 0 else largest / 127
    steps = (x / scale).round_().clamp_(-127, 127)
    return steps.where(scale > 0, 0), scale + largest * 0


def _in_tiles(x: Tensor, weight: Tensor) -> Tensor:
    """``x @ weight.T``."""
    padded = functional.pad(x, (0, 0, 0, -len(x) % TILE))
    y = torch.empty(len(padded), len(weight), dtype=x.dtype)
    for first in range(0, len(padded), TILE):
        part = slice(first, first + TILE)
        y[part] = functional.linear(padded[part].clone(), weight)
    return y[: len(x)]
