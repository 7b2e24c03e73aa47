"""The truth of every weight kernel: canonical tensors (``kernelet.contracts.op``), dequantized and multiplied."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

import torch
from torch import Tensor

from kernelet.contracts.op import DENSE, Role, ScaleLevel, Support, WeightKernel, WeightScheme

ELEMENTS: Mapping[str, torch.dtype] = MappingProxyType(
    {f"int{bits}": torch.int8 for bits in range(2, 9)}
    | {f"uint{bits}": torch.uint8 for bits in range(2, 9)}
    | {"e4m3fn": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
)
"""Dtype of the canonical ``weight`` by element type; a dense weight has its layer's."""

LARGEST: Mapping[str, float] = MappingProxyType({"int8": 127.0, "e4m3fn": 448.0, "e5m2": 57344.0})
"""Largest number of an element type, for inputs that are rounded to it."""

SCALES = ("float64", "float32", "bfloat16", "float16", "e4m3fn", "e5m2", "uint8", "int8")
"""Dtypes of scales."""


def scales_name(level: int) -> str:
    """Name of a level's canonical tensor."""
    return f"scales_{level}" if level else "scales"


def offsets_name(level: int) -> str:
    """Name of what is added at a level."""
    return f"offsets_{level}" if level else "offsets"


def blocks_of(level: ScaleLevel, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of a level's scales."""
    *experts, rows, columns = shape
    over = [-(-size // block) if block else 1 for size, block in zip((rows, columns), level.block, strict=True)]
    return (*experts, *over)


def spread(values: Tensor, level: ScaleLevel, shape: tuple[int, ...]) -> Tensor:
    """Values of blocks -> float64 values of elements, [..., out, in]."""
    rows, columns = shape[-2:]
    block_rows, block_columns = (block or size for block, size in zip(level.block, (rows, columns), strict=True))
    whole = values.double().repeat_interleave(block_rows, -2).repeat_interleave(block_columns, -1)
    return whole[..., :rows, :columns]


def no_reference(scheme: WeightScheme) -> str:
    """Why weights of a scheme have no canonical form here; empty if they have one."""
    known: Mapping[str, tuple[object, tuple[object, ...]]] = {
        "element": (scheme.element, ("dense", *ELEMENTS)),
        "zero_point": (scheme.zero_point, (None, "int", "float", "offset") if scheme.scales else (None,)),
        "activation": (scheme.activation, (None, "static", "dynamic")),
        "activation_element": (scheme.activation_element, (*LARGEST,) if scheme.activation else (None, *LARGEST)),
        "codebook": (scheme.codebook, (0,)),
        "opaque": (scheme.opaque, ("",)),
    }
    strange = [f"{name} {value!r}" for name, (value, allowed) in known.items() if value not in allowed]
    strange += [f"scales in {level.dtype}" for level in scheme.scales if level.dtype not in SCALES]
    return f"no reference for weights with {', '.join(strange)}" if strange else ""


def dequantize(weights: Mapping[str, Tensor], scheme: WeightScheme) -> Tensor:
    """Canonical tensors -> float64 [..., out, in], columns in the order of the input.

    Raises:
        ValueError: the scheme has no canonical form here.
    """
    if reason := no_reference(scheme):
        raise ValueError(f"{reason}: their format's own dequantizer is the truth")
    stored = weights["weight"]
    shape = tuple(stored.shape)
    values = stored.double()
    if scheme.zero_point in {"int", "float"}:
        values = values - spread(weights["zero_points"], scheme.scales[0], shape)
    for index, level in enumerate(scheme.scales):
        values = values * spread(weights[scales_name(index)], level, shape)
    if scheme.zero_point == "offset":
        values = values + prod(
            spread(weights[offsets_name(index)], level, shape) for index, level in enumerate(scheme.scales)
        )
    if not scheme.permuted:
        return values
    order = weights["permutation"].long().unsqueeze(-2).expand(shape)
    return torch.empty_like(values).scatter_(-1, order, values)


def rounded(x: Tensor, scheme: WeightScheme) -> Tensor:
    """Inputs [rows, in] as a scheme with dynamic activations has them: float64, rows that are not finite all NaN.

    The scale and what is divided by it are float32, or float64 where inputs are.
    """
    if scheme.activation != "dynamic" or scheme.activation_element is None:
        return x.double()
    largest = LARGEST[scheme.activation_element]
    wide = x if x.dtype is torch.float64 else x.float()
    scale = wide.abs().amax(-1, keepdim=True) / largest
    steps = (wide / scale).clamp(-largest, largest)
    integer = scheme.activation_element.startswith("int")
    steps = steps.round() if integer else steps.to(ELEMENTS[scheme.activation_element])
    whole = steps.double() * scale.double()
    return torch.where(scale > 0, whole, whole.new_zeros(())).where(scale.isfinite(), torch.nan)


class ReferenceKernel(WeightKernel):
    """Multiplies in float64 with a weight that was dequantized once.

    Of quantized inputs only dynamic ones are rounded: what a kernel loses with static ones is its own error.
    """

    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        if reason := no_reference(scheme):
            return Support(ok=False, reason=reason)
        return Support(ok=True)

    def prepare(self, weights: Mapping[str, Tensor]) -> Tensor:
        """A dense weight as it is; else in float64, and a table in float32, since nothing names the layer's dtype."""
        if self.scheme == DENSE:
            return weights["weight"]
        whole = dequantize(weights, self.scheme)
        return whole.float() if self.role == "embedding" else whole

    def apply(self, x: Tensor, prepared: Tensor, bias: Tensor | None) -> Tensor:
        return prepared[x] if self.role == "embedding" else self._multiply(x, prepared, bias)

    def apply_grouped(self, x: Tensor, prepared: Tensor, expert: int) -> Tensor:
        return self._multiply(x, prepared[expert], None)

    def round_inputs(self, x: Tensor) -> Tensor:
        """Inputs as the scheme has them."""
        return rounded(x, self.scheme)

    def _multiply(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        product = self.round_inputs(x) @ weight.double().T
        return (product if bias is None else product + bias.double()).to(x.dtype)
