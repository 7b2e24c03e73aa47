"""Weights to the nearest numbers of a form, and the tensors that a checkpoint holds of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from kernelet_quant_compressed_tensors.configuration import Form
from kernelet_quant_compressed_tensors.packing import pack

LARGEST_FLOAT8 = 448.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Rounded:
    """A weight [out, in] as numbers.

    Attributes:
        numbers: int8 or float8 [out, in].
        scales: float32 [out blocks, in blocks].
        points: int8, as large; None where the form is symmetric.
        exact: float64 [out, in], what the numbers stand for.
    """

    numbers: Tensor
    scales: Tensor
    points: Tensor | None
    exact: Tensor


def round_weight(weight: Tensor, form: Form) -> Rounded:
    """[out, in], finite, rounded to the nearest; scales just hold the largest value of a block."""
    rows, columns = weight.shape
    height, width = form.block[0] or rows, form.block[1] or columns
    values = functional.pad(weight.float(), (0, -columns % width, 0, -rows % height))
    values = values.view(-1, height, values.shape[1] // width, width)
    half = 1 << (form.bits - 1)
    points = None
    if form.element == "e4m3fn":
        scales = _scales(values.abs().amax((1, 3)) / LARGEST_FLOAT8)
        whole = (values / scales[:, None, :, None]).clamp(-LARGEST_FLOAT8, LARGEST_FLOAT8).to(torch.float8_e4m3fn)
    elif form.symmetric:
        scales = _scales(values.abs().amax((1, 3)) / (half - 1))
        whole = (values / scales[:, None, :, None]).round().to(torch.int8)
    else:
        low, high = values.amin((1, 3)).clamp(max=0), values.amax((1, 3)).clamp(min=0)
        scales = _scales((high - low) / (2 * half - 1))
        points = (-half - low / scales).round().clamp(-half, half - 1)
        whole = ((values / scales[:, None, :, None]).round() + points[:, None, :, None]).clamp(-half, half - 1)
        whole, points = whole.to(torch.int8), points.to(torch.int8)
    shift = 0 if points is None else points[:, None, :, None].double()
    exact = (whole.double() - shift) * scales[:, None, :, None].double()
    return Rounded(numbers=_cut(whole, rows, columns), scales=scales, points=points, exact=_cut(exact, rows, columns))


def stored(rounded: Rounded, form: Form) -> dict[str, Tensor]:
    """The tensors of a module by suffix, as the format's own tools write them."""
    is_tensor = form.kind == "tensor"
    found = {"weight_scale": rounded.scales.reshape(1) if is_tensor else rounded.scales}
    points = rounded.points
    if form.packed:
        found |= {
            "weight_packed": pack(rounded.numbers, form.bits),
            "weight_shape": torch.tensor(rounded.numbers.shape),
        }
        if points is not None and form.kind in {"channel", "group"}:
            return found | {"weight_zero_point": pack(points.T, form.bits).T.contiguous()}
    else:
        found["weight"] = rounded.numbers
    return found if points is None else found | {"weight_zero_point": points.reshape(1) if is_tensor else points}


def _scales(scales: Tensor) -> Tensor:
    """Blocks of zeros, and of values too small for a normal scale, have the scale 1 and are 0."""
    return scales.masked_fill(scales < torch.finfo(torch.float32).tiny, 1.0)


def _cut(values: Tensor, rows: int, columns: int) -> Tensor:
    """[out blocks, height, in blocks, width] -> [out, in]."""
    high, height, wide, width = values.shape
    return values.reshape(high * height, wide * width)[:rows, :columns].contiguous()
