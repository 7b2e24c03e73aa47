"""Canonical tensors (``kernelet.contracts.op``) as the kernels keep them, and which schemes these are."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

import torch
from torch import Tensor
from torch.nn import functional
from triton import cdiv

from kernelet.contracts.op import ScaleLevel, Support, WeightScheme
from kernelet_ops_triton.configurations import WHOLE
from kernelet_ops_triton.device import elements, gemm
from kernelet_ops_triton.linear.launch import Form, Prepared
from kernelet_ops_triton.plugin import DTYPES

NIBBLES = ("int4", "uint4")
ELEMENTS: Mapping[str, int] = MappingProxyType(
    {f"{sign}int{bits}": elements.BYTES.value for sign in ("", "u") for bits in range(2, 9)}
    | dict.fromkeys(NIBBLES, elements.NIBBLES.value)
    | {"e4m3fn": elements.E4M3FN.value, "e5m2": elements.E5M2.value}
)
"""Element types, and how they are kept: int4 two a byte, all others one."""

ZEROS: Mapping[str | None, int] = MappingProxyType(
    {
        None: elements.NO_ZEROS.value,
        "int": elements.ZERO_POINTS.value,
        "float": elements.ZERO_POINTS.value,
        "offset": elements.OFFSETS.value,
    }
)
SCALES = ("float32", "bfloat16", "float16", "e4m3fn", "e5m2", "uint8", "int8")
AS_THEY_ARE = ("float32", "bfloat16", "float16")
"""Scales of one level that are kept in their dtype; others become float32."""

INPUTS: Mapping[str | None, int] = MappingProxyType(
    {None: gemm.AS_THEY_ARE.value, "int8": gemm.INT8.value, "e4m3fn": gemm.FLOAT8.value}
)
"""What inputs are rounded to."""

LEAST_GROUP = 32
"""Of inputs that are rounded: a matrix unit multiplies as many at once."""


def supports(scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
    """Whether weights of a scheme can be kept."""
    rounded = scheme.activation_element if scheme.activation else None
    group = group_of(scheme, shape[-1])
    wrong = {
        f"inputs in {', '.join(DTYPES)}": dtype not in DTYPES,
        "integers of 2 to 8 bits, e4m3fn and e5m2": scheme.element not in ELEMENTS,
        "canonical weights, which this format has not": bool(scheme.opaque),
        "no codebook": bool(scheme.codebook),
        "weights with scales": not scheme.scales,
        f"scales in {', '.join(SCALES)}": any(level.dtype not in SCALES for level in scheme.scales),
        "groups of a power of two inputs, at least 16, or of all": group & (group - 1) != 0 or group < 16,
        "zero points that are int, float or offsets": scheme.zero_point not in ZEROS,
        "inputs as they are, or int8 or e4m3fn, dynamic or static": rounded not in INPUTS
        or scheme.activation not in {None, "dynamic", "static"},
        f"rounded inputs with groups of {LEAST_GROUP} at least": rounded is not None and group < LEAST_GROUP,
        "int8 inputs with signed integers, or of less than 8 bits": rounded == "int8"
        and (scheme.element == "uint8" or scheme.element in {"e4m3fn", "e5m2"}),
        "e4m3fn inputs with elements of that type": rounded == "e4m3fn" and scheme.element != "e4m3fn",
    }
    reasons = [what for what, holds in wrong.items() if holds]
    if reasons:
        return Support(ok=False, reason=f"takes {reasons[0]}; this weight is {scheme.describe()}, {list(shape)}")
    return Support(ok=True)


def group_of(scheme: WeightScheme, inputs: int) -> int:
    """Inputs that share a scale of the finest level."""
    group = scheme.scales[0].block[1] if scheme.scales else 0
    return group if 0 < group < inputs else WHOLE


def form_of(scheme: WeightScheme, outputs: int, inputs: int) -> Form:
    """How a weight of a scheme that ``supports`` takes is kept."""
    group = group_of(scheme, inputs)
    columns = cdiv(inputs, group)
    inputs_are = INPUTS[scheme.activation_element if scheme.activation else None]
    after_sums = (None,) if inputs_are else (None, "int", "float")
    return Form(
        outputs=outputs,
        inputs=inputs,
        element=ELEMENTS[scheme.element],
        origin=8 if scheme.element == "int4" else 0,
        columns=columns,
        over_rows=scheme.scales[0].block[0] or outputs,
        group=group,
        zeros_are=ZEROS[scheme.zero_point],
        late=columns == 1 and scheme.zero_point in after_sums,
        inputs_are=inputs_are,
    )


def packed(weights: Mapping[str, Tensor], scheme: WeightScheme) -> Prepared:
    """Canonical tensors of a scheme that ``supports`` takes; [outputs, inputs], or of experts."""
    weight = weights["weight"]
    outputs, inputs = weight.shape[-2:]
    zeros = None
    if scheme.zero_point == "offset":
        zeros = _folded("offsets", weights, scheme, (outputs, inputs))
    elif scheme.zero_point:
        zeros = weights["zero_points"].contiguous()
    order = weights["permutation"].long() if scheme.permuted else None
    return Prepared(
        form=form_of(scheme, outputs, inputs),
        weight=_elements(weight, scheme.element),
        scales=_folded("scales", weights, scheme, (outputs, inputs)),
        zeros=zeros,
        permutation=order,
        input_scale=weights["input_scale"].float() if scheme.activation == "static" else None,
    )


def _elements(weight: Tensor, element: str) -> Tensor:
    weight = weight.contiguous()
    if element in {"e4m3fn", "e5m2"}:
        return weight.view(torch.uint8)
    if element not in NIBBLES:
        return weight
    codes = (weight + 8).view(torch.uint8) if element == "int4" else weight
    codes = functional.pad(codes, (0, codes.shape[-1] % 2))
    return codes[..., ::2] | (codes[..., 1::2] << 4)


def _folded(name: str, weights: Mapping[str, Tensor], scheme: WeightScheme, shape: tuple[int, int]) -> Tensor:
    """Values of all levels, in the blocks of the finest one: their product."""
    fine = scheme.scales[0]
    if len(scheme.scales) == 1:
        values = weights[name]
        return values.contiguous() if fine.dtype in AS_THEY_ARE else values.float().contiguous()
    levels = (
        weights[f"{name}_{index}" if index else name].float()[..., *_places(fine, level, shape)]
        for index, level in enumerate(scheme.scales)
    )
    return prod(levels, start=torch.ones((), device=weights[name].device)).contiguous()


def _places(fine: ScaleLevel, coarse: ScaleLevel, shape: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Which blocks of a coarser level the blocks of the finest one lie in."""
    found = []
    for size, over, wide in zip(shape, fine.block, coarse.block, strict=True):
        starts = torch.arange(0, size, over or size)
        found.append(starts // (wide or size))
    return found[0][:, None], found[1][None, :]
