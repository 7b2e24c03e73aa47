"""Canonical tensors against a scheme and a weight."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from kernelet.contracts.op import WeightScheme
from kernelet.testing.weight_kernel.reference import ELEMENTS, blocks_of, offsets_name, scales_name


def misfit(found: Mapping[str, Tensor], scheme: WeightScheme, shape: tuple[int, ...]) -> str:
    """How tensors are not those of a scheme, of a weight [out, in]; empty if they are."""
    wanted: dict[str, tuple[tuple[int, ...], torch.dtype | None]] = {
        "weight": (shape, ELEMENTS.get(scheme.element)),
    }
    for index, level in enumerate(scheme.scales):
        named = ELEMENTS.get(level.dtype) or getattr(torch, level.dtype)
        wanted[scales_name(index)] = (blocks_of(level, shape), named)
        if scheme.zero_point == "offset":
            wanted[offsets_name(index)] = wanted[scales_name(index)]
    if scheme.zero_point in {"int", "float"}:
        blocks, dtype = wanted["scales"]
        wanted["zero_points"] = (blocks, ELEMENTS.get(scheme.element) if scheme.zero_point == "int" else dtype)
    if scheme.permuted:
        wanted["permutation"] = (shape[-1:], torch.int32)
    if scheme.activation == "static":
        wanted["input_scale"] = ((), torch.float32)
    if set(found) != set(wanted):
        return f"there must be {', '.join(sorted(wanted))}, and there are {', '.join(sorted(found))}"
    for name, (size, dtype) in wanted.items():
        if tuple(found[name].shape) != size:
            return f"{name} of a weight {list(shape)} must be {list(size)}, not {list(found[name].shape)}"
        if dtype is not None and found[name].dtype != dtype:
            return f"{name} must be {dtype}, not {found[name].dtype}"
    return ""


def differences(wanted: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> list[str]:
    """Names under which two sets of tensors differ."""
    return [name for name in wanted.keys() | found.keys() if not _equal(wanted.get(name), found.get(name))]


def _equal(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return False
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.is_floating_point() and one.element_size() == 1:  # torch compares no float8
        one, other = one.view(torch.uint8), other.view(torch.uint8)
    return torch.equal(one, other)


def worst_row(found: Tensor, weight: Tensor) -> float:
    """The largest error of a row, relative to its norm; of a row of zeros: to 1. Never NaN."""
    wanted = weight.double()
    norm = wanted.norm(dim=1)
    error = (found.double() - wanted).norm(dim=1) / torch.where(norm == 0, 1.0, norm)
    return float(error.nan_to_num(torch.inf, torch.inf).max())
