"""The GPTQ algorithm: rounds column by column, and lets the columns that are left make up for each error.

Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers" (2022).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from kernelet_quant_gptq.rounding import Grid, find_grid

COLUMNS = 128
"""Columns whose errors are collected before they reach all that are right of them."""
MOST_DAMPING = 1.0


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a weight is rounded.

    Attributes:
        bits: Of a value.
        group_size: Inputs that share a scale; -1: all.
        symmetric: Zero points are the middle.
        act_order: Inputs that matter most come first.
        static_groups: Groups are those of neighbours, and scales those of the weights before any is rounded.
        damping: What is added to the diagonal of the Hessian, as part of its mean.
    """

    bits: int = 4
    group_size: int = 128
    symmetric: bool = True
    act_order: bool = False
    static_groups: bool = False
    damping: float = 0.05


@dataclass(frozen=True, kw_only=True)
class Solution:
    """A rounded weight.

    Attributes:
        values: float32 [out, in], whole.
        scales: float32 [out, groups], numbers of float16.
        zeros: float32 [out, groups], whole.
        groups: int32 [in]: the group of each input.
    """

    values: Tensor
    scales: Tensor
    zeros: Tensor
    groups: Tensor

    def weight(self) -> Tensor:
        """float32 [out, in]: what it stands for."""
        index = self.groups.long()
        return (self.values - self.zeros[:, index]) * self.scales[:, index]


def solve(weight: Tensor, moment: Tensor, options: Options) -> Solution:
    """Rounds a weight.

    Args:
        weight: float32 [out, in].
        moment: float32 [in, in], second moment of the inputs; inputs that are always 0 count as independent.
        options: How.
    """
    columns = weight.shape[1]
    size = columns if options.group_size == -1 else options.group_size
    moment = moment.clone()
    diagonal = moment.diagonal()
    diagonal[diagonal == 0] = float(diagonal.mean()) or 1.0
    order = torch.argsort(diagonal, descending=True, stable=True) if options.act_order else torch.arange(columns)
    static = [find_grid(part, options.bits, symmetric=options.symmetric) for part in weight.split(size, 1)]
    groups = torch.arange(columns, dtype=torch.int32) // size
    if options.act_order and not options.static_groups:
        groups = torch.empty_like(groups).scatter_(0, order, groups)
    inverse = _inverse_factor(moment[order][:, order], options.damping)
    left = weight[:, order].clone()
    values = torch.empty_like(left)
    grids = list(static) if options.static_groups else []
    for start in range(0, columns, COLUMNS):
        end = min(start + COLUMNS, columns)
        errors = torch.empty_like(left[:, start:end])
        for column in range(start, end):
            if not options.static_groups and column % size == 0:
                # errors of this block have not reached columns right of it
                right = left[:, column : column + size].clone()
                right[:, end - column :] -= errors[:, : column - start] @ inverse[start:column, end : column + size]
                grids.append(find_grid(right, options.bits, symmetric=options.symmetric))
            grid = grids[int(groups[order[column]])]
            values[:, column] = grid.nearest(left[:, column : column + 1])[:, 0]
            found = grid.weight(values[:, column : column + 1])[:, 0]
            errors[:, column - start] = (left[:, column] - found) / inverse[column, column]
            left[:, column:end] -= errors[:, column - start, None] * inverse[column, column:end]
        left[:, end:] -= errors @ inverse[start:end, end:]
    return _solution(values, order, grids, groups)


def _solution(values: Tensor, order: Tensor, grids: list[Grid], groups: Tensor) -> Solution:
    return Solution(
        values=torch.empty_like(values).index_copy_(1, order, values),
        scales=torch.cat([grid.scale for grid in grids], 1),
        zeros=torch.cat([grid.zero for grid in grids], 1),
        groups=groups,
    )


def _inverse_factor(moment: Tensor, damping: float) -> Tensor:
    """Upper Cholesky factor of the inverse of the damped moment; damping grows until there is one.

    Raises:
        ValueError: there is none, because values are no numbers.
    """
    wide = moment.double()
    mean = wide.diagonal().mean()
    while damping <= MOST_DAMPING:
        damped = wide + torch.eye(len(wide), dtype=torch.float64) * (damping * mean)
        lower, failed = torch.linalg.cholesky_ex(damped)
        if not int(failed):
            upper: Tensor
            upper, failed = torch.linalg.cholesky_ex(torch.cholesky_inverse(lower), upper=True)
            if not int(failed):
                return upper.float()
        damping *= 2
    raise ValueError("the second moment of the inputs has no Cholesky factor")
