"""Which schemes the kernels of the extension pack, and canonical tensors as they want them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from types import MappingProxyType

import torch
from torch import Tensor

from kernelet.contracts.op import ScaleLevel, Support, WeightScheme

BITS: Mapping[str, int] = MappingProxyType(
    {f"{sign}int{bits}": 8 if bits == 7 else bits for sign in ("", "u") for bits in range(2, 9)}
    | {"e4m3fn": 8, "e5m2": 8}
)
"""Element types, and the bits that one takes when it is packed."""

FLOAT8: Mapping[str, int] = MappingProxyType({"e4m3fn": 1, "e5m2": 2})
"""Small floats: numbers of ``IntFormat::Element``, where 0 is a whole number."""

SCALES = ("float32", "bfloat16", "float16", "e4m3fn", "e5m2", "uint8", "int8")
"""Dtypes of scales: float32 holds them all."""

SMALL_SCALES = ("float16", "e4m3fn", "e5m2", "uint8", "int8")
"""Dtypes of a first level that lies above another one: float16 holds them all."""

ROUNDED: Mapping[tuple[str | None, str | None], int] = MappingProxyType(
    {(None, None): 0}
    | {
        (when, element): 1 + 2 * index + (when == "static")
        for index, element in enumerate(("int8", "e4m3fn", "e5m2"))
        for when in ("dynamic", "static")
    }
)
"""What inputs become: what they are, or numbers of a type with a scale a row or one scale: ``IntFormat::Round``."""

LONGEST = 1 << 15
"""Inputs of a group whose products of int8 fit 32 bits in every order."""

ZEROS: Mapping[str | None, int] = MappingProxyType({None: 0, "int": 1, "float": 2, "offset": 3})
"""Zero points: numbers of ``IntFormat::Zero``."""

FLOATS, HALVES, BYTES, SIGNED_BYTES, NIBBLES = range(5)
"""How scales are kept: numbers of ``IntFormat::Scale``."""

E4M3FN_UNIT = 256.0
"""The kernels read 1/256 of an e4m3fn element."""


def rounding(scheme: WeightScheme) -> tuple[str | None, str | None]:
    """What inputs are rounded to, and when."""
    return scheme.activation, scheme.activation_element if scheme.activation else None


def granule(bits: int) -> int:
    """Inputs whose elements lie together."""
    return 8 if bits in {4, 8} else 32 if bits % 2 else 16


def supports(scheme: WeightScheme, shape: tuple[int, ...]) -> Support:
    """Whether weights of a scheme can be packed."""
    inputs = shape[-1]
    group = scheme.scales[0].block[1] if scheme.scales else 0
    length = min(group or inputs, inputs)
    wrong = {
        "integers of 2 to 8 bits, e4m3fn and e5m2": scheme.element not in BITS,
        "canonical weights, which this format has not": bool(scheme.opaque),
        "no codebook": bool(scheme.codebook),
        "one or two levels of scales": len(scheme.scales) not in {1, 2},
        f"scales in {', '.join(SCALES)}": any(level.dtype not in SCALES for level in scheme.scales),
        f"scales below others in {', '.join(SMALL_SCALES)}": any(
            level.dtype not in SMALL_SCALES for level in scheme.scales[:-1]
        ),
        "groups of a multiple of 8 inputs, or of all": group % 8 != 0 and group < inputs,
        "zero points that are int, float or offsets": scheme.zero_point not in ZEROS,
        "float8 without zero points": scheme.element in FLOAT8 and scheme.zero_point in {"int", "float"},
        "inputs as they are, or int8, e4m3fn or e5m2, dynamic or static": rounding(scheme) not in ROUNDED,
        f"int8 inputs with groups of at most {LONGEST}": scheme.activation_element == "int8" and length > LONGEST,
    }
    reasons = [what for what, holds in wrong.items() if holds]
    if not reasons and len(scheme.scales) == 2 and scheme.scales[1].block[1] < inputs:
        unit = _stretch(scheme, inputs)
        reasons = [f"second levels of whole {unit} inputs, or of all"] if scheme.scales[1].block[1] % unit else []
    if reasons:
        return Support(ok=False, reason=f"takes {reasons[0]}; this weight is {scheme.describe()}, {list(shape)}")
    return Support(ok=True)


@dataclass(frozen=True)
class Canonical:
    """A weight [experts, out, in] as the kernels pack it.

    Attributes:
        elements: Its bytes.
        scales: float32, float16 or bytes [experts, out, groups], as ``fields`` say.
        zeros: Zero points or offsets, as large; None: ``origin`` is the zero point.
        coarse: float32 or float16 [experts, out, blocks]: scales of the second level, if there is one.
        coarse_offsets: The same of offsets.
        fields: Those of ``IntFormat`` besides ``input_scale``.
        input_scales: float32 [experts], 0 where inputs have no scale that is known before.
        permutation: int64 [experts, in], or None.
    """

    elements: Tensor
    scales: Tensor
    zeros: Tensor | None
    coarse: Tensor | None
    coarse_offsets: Tensor | None
    fields: Mapping[str, int]
    input_scales: Tensor
    permutation: Tensor | None


def canonical(weights: Mapping[str, Tensor], scheme: WeightScheme) -> Canonical:
    """Canonical tensors of a scheme that ``supports`` takes.

    Raises:
        ValueError: a zero point lies where no element can, or a small float is no number.
    """
    weight = weights["weight"]
    experts, outputs, inputs = (1, *weight.shape)[-3:]
    bits = BITS[scheme.element]
    origin = 0 if scheme.element.startswith("u") or scheme.element in FLOAT8 else 1 << (bits - 1)
    if scheme.element in FLOAT8 and bool(weight.isnan().any()):
        raise ValueError(f"a weight in {scheme.element} has elements that are no numbers")

    def by_row(name: str, level: ScaleLevel) -> Tensor:
        """float32 [experts, out, blocks of inputs]."""
        values = weights[name].to(torch.float32)
        shared = values.reshape(experts, -1, values.shape[-1])
        return shared.repeat_interleave(level.block[0] or outputs, 1)[:, :outputs].contiguous()

    fine, *above = scheme.scales
    unit = E4M3FN_UNIT if scheme.element == "e4m3fn" else 1.0
    scales, coarse = by_row("scales", fine), by_row("scales_1", above[0]) if above else None
    zeros, coarse_offsets = None, None
    if scheme.zero_point == "offset":
        zeros, coarse_offsets = by_row("offsets", fine), by_row("offsets_1", above[0]) if above else None
    if coarse is None:
        scales *= unit
        form, scales, zeros = _narrowest(scales, zeros)
        upper = 0
    else:
        form, scales, zeros = _small(fine.dtype, scales, zeros)
        upper, coarse, coarse_offsets = _narrowest(coarse * unit, coarse_offsets)
        upper += 1
    if scheme.zero_point in {"int", "float"}:
        zeros = _points(by_row("zero_points", fine) + origin, scheme, origin)
    order = weights.get("permutation")
    scale = weights.get("input_scale", torch.zeros(())) if scheme.activation == "static" else torch.zeros(())
    return Canonical(
        elements=weight.reshape(experts, outputs, inputs).contiguous().view(torch.uint8),
        scales=scales,
        zeros=zeros,
        coarse=coarse,
        coarse_offsets=coarse_offsets,
        fields={
            "outputs": outputs,
            "inputs": inputs,
            "group": _block(fine, inputs, 32),
            "block": _block(above[0], inputs, _stretch(scheme, inputs)) if above else inputs,
            "bits": bits,
            "origin": origin,
            "element": FLOAT8.get(scheme.element, 0),
            "scale": form,
            "coarse": upper,
            "zero": ZEROS[scheme.zero_point],
            "round": ROUNDED[rounding(scheme)],
        },
        input_scales=scale.to(torch.float32).reshape(-1).expand(experts),
        permutation=order.reshape(experts, inputs).long() if order is not None and scheme.permuted else None,
    )


def _block(level: ScaleLevel, inputs: int, unit: int) -> int:
    """Inputs of a block; of one that is the whole axis, whole units."""
    return level.block[1] if 0 < level.block[1] < inputs else -(-inputs // unit) * unit


def _stretch(scheme: WeightScheme, inputs: int) -> int:
    """Inputs of whole groups and granules."""
    group, least = _block(scheme.scales[0], inputs, 32), granule(BITS[scheme.element])
    return group * least // gcd(group, least)


def _narrowest(values: Tensor, more: Tensor | None) -> tuple[int, Tensor, Tensor | None]:
    """In float16 where that loses nothing of both, else as they are."""
    both = [values] if more is None else [values, more]
    halves = [tensor.half() for tensor in both]
    if all(torch.equal(half.float(), tensor) for half, tensor in zip(halves, both, strict=True)):
        return HALVES, halves[0], None if more is None else halves[1]
    return FLOATS, values, more


def _small(dtype: str, scales: Tensor, offsets: Tensor | None) -> tuple[int, Tensor, Tensor | None]:
    """Scales that lie below others: both of four bits are a byte, where offsets are."""
    if dtype not in {"uint8", "int8"}:
        return _narrowest(scales, offsets)
    if dtype == "uint8" and offsets is not None and bool(scales.max() <= 15) and bool(offsets.max() <= 15):
        return NIBBLES, (scales + 16 * offsets).to(torch.uint8), None
    kind = torch.uint8 if dtype == "uint8" else torch.int8
    form = BYTES if dtype == "uint8" else SIGNED_BYTES
    return form, scales.to(kind), None if offsets is None else offsets.to(kind)


def _points(zeros: Tensor, scheme: WeightScheme, origin: int) -> Tensor:
    if scheme.zero_point == "float":
        return zeros
    if zeros.numel() and not 0 <= zeros.min() <= zeros.max() <= 255:
        low, high = int(zeros.min()) - origin, int(zeros.max()) - origin
        raise ValueError(f"zero points of {scheme.element} weights are from {low} to {high}")
    return zeros.to(torch.uint8)
