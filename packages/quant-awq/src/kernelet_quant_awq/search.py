"""What AWQ searches: factors of input channels, and how far the weights of a group are clipped.

Lin et al., "AWQ: Activation-aware Weight Quantization" (2023), with the grids of ``autoawq``. Errors are those of the
outputs over all calibration tokens, which the inputs' second moment gives exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kernelet.contracts.quantizing import ModuleInputs
from kernelet_quant_awq.rounding import Rounded, block_moments, in_groups, round_weight, row_errors

RATIOS = 20
SHRINKS = 10
SHRINK = 1 / 20
SMALLEST = 1e-4


def find_factors(weights: Sequence[Tensor], inputs: ModuleInputs, group_size: int) -> Tensor | None:
    """Factors [in] of the columns of weights [out, in] that have one input; None: rounding is best without.

    Large inputs and columns that are small within their groups get large factors: ``x ** r / w ** (1 - r)``.
    """
    whole = torch.cat(list(weights))
    groups = in_groups(whole.abs(), group_size)
    relative = (groups / (groups.amax(2, keepdim=True) + 1e-6)).flatten(1).mean(0)
    best, least = None, float(row_errors(round_weight(whole, group_size).weight() - whole, inputs.second_moment).sum())
    for step in range(RATIOS):
        ratio = step / RATIOS
        factors = inputs.mean_magnitude.pow(ratio) / (relative.pow(1 - ratio) + SMALLEST)
        factors = factors.clamp(min=SMALLEST)
        factors = factors / (factors.amax() * factors.amin()).sqrt()
        error = round_weight(whole * factors, group_size).weight() / factors - whole
        total = float(row_errors(error, inputs.second_moment).sum())
        if total < least and bool(torch.isfinite(factors).all()):
            best, least = factors, total
    return best


def round_clipped(weight: Tensor, inputs: ModuleInputs, group_size: int) -> Rounded:
    """Rounds a weight [out, in], each group clipped as is best for the sum over its own inputs.

    Rows that are better unclipped, given all of their groups, stay so.
    """
    plain = round_weight(weight, group_size)
    moments = block_moments(inputs.second_moment, group_size)
    groups = in_groups(weight, group_size)
    low, high = groups.amin(2, keepdim=True), groups.amax(2, keepdim=True)
    largest = torch.maximum(-low, high)
    best, least = largest, _group_errors(plain, groups, moments)
    for step in range(1, SHRINKS):
        bound = largest * (1 - step * SHRINK)
        rounded = round_weight(weight, group_size, torch.maximum(low, -bound), torch.minimum(high, bound))
        errors = _group_errors(rounded, groups, moments)
        best, least = torch.where(errors < least, bound, best), torch.minimum(errors, least)
    clipped = round_weight(weight, group_size, torch.maximum(low, -best), torch.minimum(high, best))
    before, after = (row_errors(one.weight() - weight, inputs.second_moment) for one in (plain, clipped))
    better = (after < before)[:, None, None]
    return Rounded(*(torch.where(better, new, old) for new, old in zip(clipped, plain, strict=True)))


def _group_errors(rounded: Rounded, groups: Tensor, moments: Tensor) -> Tensor:
    """[out, groups, 1]."""
    error = ((rounded.values - rounded.zeros) * rounded.scales - groups).transpose(0, 1)
    return ((error @ moments) * error).sum(2).T[..., None]
