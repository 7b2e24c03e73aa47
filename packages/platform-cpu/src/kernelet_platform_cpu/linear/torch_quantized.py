"""Quantized weights of every canonical form in torch, for installations without the extension."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import Tensor
from torch.nn import functional

from kernelet.contracts.op import Role, ScaleLevel, Support, WeightKernel, WeightScheme
from kernelet_platform_cpu.native import DTYPES

TILE = 16
"""Rows of a product, whatever the batch: the order of sums depends on the shape."""

FLOAT8: Mapping[str, torch.dtype] = MappingProxyType({"e4m3fn": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2})
ELEMENTS = (*(f"{sign}int{bits}" for sign in ("", "u") for bits in range(2, 9)), *FLOAT8)
SCALES = ("float64", "float32", "bfloat16", "float16", "uint8", "int8", *FLOAT8)
ZEROS = (None, "int", "float", "offset")
ACTIVATIONS = ((None, None), *((when, element) for when in ("dynamic", "static") for element in ("int8", *FLOAT8)))


class TorchQuantized(WeightKernel):
    """Keeps the canonical tensors, and dequantizes them in every call. Correct, and slow."""

    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        if dtype not in DTYPES:
            return Support(ok=False, reason=f"takes {', '.join(DTYPES)}, not {dtype}")
        activation = (scheme.activation, scheme.activation_element if scheme.activation else None)
        wrong = {
            "integers of 2 to 8 bits, e4m3fn and e5m2": scheme.element not in ELEMENTS,
            "canonical weights, which this format has not": bool(scheme.opaque),
            "no codebook": bool(scheme.codebook),
            "weights with scales": not scheme.scales,
            f"scales in {', '.join(SCALES)}": any(level.dtype not in SCALES for level in scheme.scales),
            "zero points that are int, float or offsets": scheme.zero_point not in ZEROS,
            "inputs as they are, or int8, e4m3fn or e5m2, dynamic or static": activation not in ACTIVATIONS,
        }
        reasons = [what for what, holds in wrong.items() if holds]
        if reasons:
            return Support(ok=False, reason=f"takes {reasons[0]}; this weight is {scheme.describe()}, {list(shape)}")
        return Support(ok=True)

    def prepare(self, weights: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return dict(weights)

    def apply(self, x: Tensor, prepared: Mapping[str, Tensor], bias: Tensor | None) -> Tensor:
        """linear: in the dtype of x. embedding: float32."""
        if self.role == "embedding":
            return self.rows(x, prepared)
        return self._multiply(x, prepared, bias)

    def apply_grouped(self, x: Tensor, prepared: Mapping[str, Tensor], expert: int) -> Tensor:
        own = {name: tensor if name == "input_scale" else tensor[expert] for name, tensor in prepared.items()}
        return self._multiply(x, own, None)

    def has_rows(self, dtype: str) -> bool:
        """Not in float64: rows are dequantized in float32."""
        return self.role == "linear" and dtype != "float64"

    def rows(self, ids: Tensor, prepared: Mapping[str, Tensor]) -> Tensor:
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < len(prepared["weight"]):
            raise IndexError(f"ids from {int(ids.min())} to {int(ids.max())} of a table of {len(prepared['weight'])}")
        found = dequantize(prepared, self.scheme, torch.float32, ids)
        if not self.scheme.permuted:
            return found
        return torch.empty_like(found).index_copy_(1, prepared["permutation"].long(), found)

    def _multiply(self, x: Tensor, prepared: Mapping[str, Tensor], bias: Tensor | None) -> Tensor:
        wide = x.to(torch.float64 if x.dtype is torch.float64 else torch.float32)
        if self.scheme.permuted:
            wide = wide.index_select(1, prepared["permutation"].long())
        scale = torch.ones(len(x), 1, dtype=wide.dtype)
        if self.scheme.activation is not None:
            fixed = prepared["input_scale"] if self.scheme.activation == "static" else None
            wide, scale = rounded(wide, fixed, self.scheme.activation_element or "")
        y = _in_tiles(wide, dequantize(prepared, self.scheme, wide.dtype)) * scale
        return (y if bias is None else y + bias).to(x.dtype)


def dequantize(
    weights: Mapping[str, Tensor], scheme: WeightScheme, dtype: torch.dtype, rows: Tensor | None = None
) -> Tensor:
    """A weight [out, in], or some of its rows, with columns as they are stored."""
    outputs, inputs = weights["weight"].shape
    rows = torch.arange(outputs) if rows is None else rows

    def spread(name: str, level: ScaleLevel) -> Tensor:
        over_rows, over_columns = level.block[0] or outputs, level.block[1] or inputs
        return weights[name].to(dtype)[rows // over_rows].repeat_interleave(over_columns, 1)[:, :inputs]

    def whole(name: str) -> Tensor:
        found = spread(name, scheme.scales[0])
        for index, level in enumerate(scheme.scales[1:], start=1):
            found = found * spread(f"{name}_{index}", level)
        return found

    stored = weights["weight"]
    values = (stored.view(torch.uint8)[rows].view(stored.dtype) if scheme.element in FLOAT8 else stored[rows]).to(dtype)
    if scheme.zero_point in {"int", "float"}:
        values -= spread("zero_points", scheme.scales[0])
    values *= whole("scales")
    return values + whole("offsets") if scheme.zero_point == "offset" else values


def rounded(x: Tensor, fixed: Tensor | None, element: str) -> tuple[Tensor, Tensor]:
    """Inputs over a scale, rounded to an element type (of int8 without -128), and the scales [rows, 1].

    Args:
        x: float32 or float64 [rows, in].
        fixed: The scale; None: each row has its own, and one that is not finite becomes NaN.
        element: ``"int8"``, ``"e4m3fn"`` or ``"e5m2"``.
    """
    most = torch.finfo(FLOAT8[element]).max if element in FLOAT8 else 127.0
    largest = x.abs().amax(1, keepdim=True)
    scale = largest / most if fixed is None else fixed.to(x.dtype) + largest * 0
    steps = (x / scale).clamp_(-most, most)
    steps = steps.to(FLOAT8[element]).to(x.dtype) if element in FLOAT8 else steps.round_()
    return steps.where(scale > 0, 0), scale + largest * 0


def _in_tiles(x: Tensor, weight: Tensor) -> Tensor:
    """``x @ weight.T``."""
    padded = functional.pad(x, (0, 0, 0, -len(x) % TILE))
    y = torch.empty(len(padded), len(weight), dtype=x.dtype)
    for first in range(0, len(padded), TILE):
        part = slice(first, first + TILE)
        y[part] = functional.linear(padded[part].clone(), weight)
    return y[: len(x)]
