"""Weights of 2 to 8 bits: which schemes the kernels serve, and canonical tensors as they want them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from kernelet.contracts.op import Support, WeightScheme

BITS = {f"{sign}int{bits}": bits for sign in ("", "u") for bits in range(2, 9)}
"""Element types."""

SCALES = ("float32", "bfloat16", "float16", "e4m3fn", "e5m2")
"""Dtypes of scales: float32 holds them all."""

ROUNDED = {(None, None): 0, ("dynamic", "int8"): 1, ("static", "int8"): 2}
"""What inputs become: what they are, int8 with a scale a row, int8 with one scale. Numbers of ``IntFormat::Round``."""

LONGEST = 1 << 15
"""Inputs of a group whose products of int8 fit 32 bits in every order."""

ZEROS = {None: 0, "int": 1, "float": 2}
"""Zero points: numbers of ``IntFormat::Zero``."""


def supports(scheme: WeightScheme, shape: tuple[int, ...]) -> Support:
    """Whether weights of a scheme are integers that can be packed."""
    group = scheme.scales[0].block[1] if scheme.scales else 0
    length = min(group or shape[-1], shape[-1])
    rounded = (scheme.activation, scheme.activation_element if scheme.activation else None)
    wrong = {
        "elements of 2 to 8 bits, signed or not": scheme.element not in BITS,
        "canonical weights, which this format has not": bool(scheme.opaque),
        "no codebook": bool(scheme.codebook),
        "one level of scales": len(scheme.scales) != 1,
        f"scales in {', '.join(SCALES)}": any(level.dtype not in SCALES for level in scheme.scales),
        "groups of a multiple of 8 inputs, or of all": group % 8 != 0 and group < shape[-1],
        "zero points that are int or float": scheme.zero_point not in ZEROS,
        "inputs as they are or int8, dynamic or static": rounded not in ROUNDED,
        f"int8 inputs with groups of at most {LONGEST}": scheme.activation is not None and length > LONGEST,
    }
    reasons = [what for what, holds in wrong.items() if holds]
    if reasons:
        return Support(ok=False, reason=f"takes {reasons[0]}; this weight is {scheme.describe()}, {list(shape)}")
    return Support(ok=True)


@dataclass(frozen=True)
class Integers:
    """A weight [experts, out, in] as the kernels pack it.

    Attributes:
        elements: Its bytes.
        scales: float32 [experts, out, groups].
        zeros: uint8 or float32, as large; None: ``origin`` is the zero point.
        group: Inputs of a group, a multiple of 8.
        bits: Bits that an element takes when it is packed, 4 or 8.
        origin: What is added to an element so that it is not negative.
        input_scales: float32 [experts], 0 where inputs have no scale that is known before.
        permutation: int64 [experts, in], or None.
    """

    elements: Tensor
    scales: Tensor
    zeros: Tensor | None
    group: int
    bits: int
    origin: int
    input_scales: Tensor
    permutation: Tensor | None


def integers(weights: Mapping[str, Tensor], scheme: WeightScheme) -> Integers:
    """Canonical tensors of a scheme that ``supports`` takes.

    Raises:
        ValueError: a zero point lies where no element can.
    """
    weight = weights["weight"]
    experts, outputs, inputs = (1, *weight.shape)[-3:]
    bits = 4 if BITS[scheme.element] <= 4 else 8
    origin = 0 if scheme.element.startswith("u") else 1 << (bits - 1)
    rows, columns = scheme.scales[0].block

    def by_group(values: Tensor) -> Tensor:
        """[experts, out, groups] of what is [(experts,) blocks, groups]."""
        shared = values.reshape(experts, -1, values.shape[-1])
        return shared.repeat_interleave(rows or outputs, 1)[:, :outputs].contiguous()

    zeros = None
    if scheme.zero_point is not None:
        zeros = by_group(weights["zero_points"].to(torch.float32) + origin)
        if scheme.zero_point == "int":
            if zeros.numel() and not 0 <= zeros.min() <= zeros.max() <= 255:
                low, high = int(zeros.min()) - origin, int(zeros.max()) - origin
                raise ValueError(f"zero points of {scheme.element} weights are from {low} to {high}")
            zeros = zeros.to(torch.uint8)
    order = weights.get("permutation")
    scale = weights.get("input_scale", torch.zeros(())) if scheme.activation == "static" else torch.zeros(())
    return Integers(
        elements=weight.reshape(experts, outputs, inputs).contiguous().view(torch.uint8),
        scales=by_group(weights["scales"].to(torch.float32)),
        zeros=zeros,
        group=columns if 0 < columns < inputs else inputs + -inputs % 8,
        bits=bits,
        origin=origin,
        input_scales=scale.to(torch.float32).reshape(-1).expand(experts),
        permutation=order.reshape(experts, inputs).long() if order is not None and scheme.permuted else None,
    )
