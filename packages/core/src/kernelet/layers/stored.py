"""What a quantization method says of a weight's modules, and the canonical tensors that it makes of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

import torch
from torch import Tensor

from kernelet.contracts.op import WeightScheme
from kernelet.contracts.quant import QuantizationMethod, QuantLayer
from kernelet.errors import KerneletError, PluginError
from kernelet.layers.canonical import Canonical, are_apart, blocks, form, stack

SCALE_BYTES: Mapping[str, int] = MappingProxyType({"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2})
"""Of a scale; of other dtypes 1."""


@dataclass(frozen=True, kw_only=True)
class Module:
    """A module of the checkpoint and this rank's rows of it."""

    layer: QuantLayer
    rows: int


def ask(method: QuantizationMethod, layer: QuantLayer) -> WeightScheme | None:
    """How a module's weight is stored; None: unquantized.

    Raises:
        UnsupportedModelError: it cannot be stored so.
        PluginError: the method answers something else than a scheme.
    """
    answer: object = method.scheme(layer)
    if answer is not None and not isinstance(answer, WeightScheme):
        raise PluginError(
            f"{_name(method)}.scheme({layer.name}) returned {type(answer).__name__}, not WeightScheme or None"
        )
    return answer


def make_canonical(
    method: QuantizationMethod, layer: QuantLayer, stored: Mapping[str, Tensor], shape: tuple[int, ...]
) -> dict[str, Tensor]:
    """Canonical tensors of one module, checked.

    Args:
        method: Who knows how it is stored.
        layer: The module.
        stored: What it is made from.
        shape: [out, in] of the weight in ``stored``.

    Raises:
        WeightsError: a tensor is damaged.
        PluginError: the method fails, or makes something else than its scheme says.
    """
    scheme = method.scheme(layer)
    assert scheme is not None
    try:
        made = dict(method.canonical(layer, stored))
    except KerneletError:
        raise
    except Exception as error:
        raise PluginError(
            f"{_name(method)}.canonical({layer.name}) failed for {_shapes(stored)}: {type(error).__name__}: {error}"
        ) from error
    expected = form(scheme, shape)
    found = {name: tuple(tensor.shape) for name, tensor in made.items()}
    if found != expected:
        raise PluginError(
            f"{_name(method)}.canonical({layer.name}) made {found}, but {scheme.describe()} of {shape} is {expected}"
        )
    return made


def quantize(
    method: QuantizationMethod, scheme: WeightScheme, modules: Sequence[Module], weight: Tensor
) -> dict[str, Tensor]:
    """Quantizes an unquantized weight, module by module.

    Args:
        method: Who quantizes.
        scheme: What the method says of each module.
        modules: What the rows of the weight are of; where it is one of experts, those of each expert in turn.
        weight: [out, in] or [experts, out, in] of this rank.

    Raises:
        PluginError: the method made something else than the scheme says.
    """
    if weight.dim() == 3:
        each = len(modules) // len(weight)
        return stack_experts(
            quantize(method, scheme, modules[index * each : (index + 1) * each], expert)
            for index, expert in enumerate(weight)
        )
    pieces = weight.split([module.rows for module in modules])
    made = [
        make_canonical(method, module.layer, {"weight": piece}, tuple(piece.shape))
        for module, piece in zip(modules, pieces, strict=True)
    ]
    if are_apart(made):
        names = ", ".join(module.layer.name for module in modules)
        raise PluginError(f"{_name(method)} gives {names} inputs of their own, which are computed as one weight")
    return stack(scheme, made)


def stack_experts(experts: Iterable[Canonical]) -> dict[str, Tensor]:
    """Canonical tensors of experts as one weight [experts, out, in]."""
    made = list(experts)
    return {name: torch.stack([one[name] for one in made]) for name in made[0]}


def stored_bytes(scheme: WeightScheme, shape: tuple[int, ...], itemsize: int) -> int:
    """Bytes of a weight [..., out, in]: elements as wide as their type is, scales and zero points.

    Args:
        scheme: How it is stored.
        shape: Of this rank.
        itemsize: Bytes of an unquantized element.
    """
    bits = _bits(scheme.element) or 8 * itemsize
    total = prod(shape) * bits
    for index, level in enumerate(scheme.scales):
        count = prod(shape[:-2]) * prod(blocks(shape[-2:], level.block))
        scale = 8 * SCALE_BYTES.get(level.dtype, 1)
        total += count * scale
        if scheme.zero_point == "offset" or (index == 0 and scheme.zero_point is not None):
            total += count * (bits if scheme.zero_point == "int" else scale)
    return -(-total // 8)


def _bits(element: str) -> int:
    """Width of an element type by its name, ``"int4"``, ``"e4m3fn"``, ``"nf4"``; 0 for another name."""
    if found := re.fullmatch(r"e(\d)m(\d)[a-z]*", element):
        return 1 + int(found[1]) + int(found[2])
    found = re.fullmatch(r"[a-z]+(\d+)", element)
    return int(found[1]) if found else 0


def _name(method: QuantizationMethod) -> str:
    return f"{type(method).__module__}:{type(method).__qualname__}"


def _shapes(tensors: Mapping[str, Tensor]) -> str:
    return ", ".join(f"{name} {tensor.dtype} {list(tensor.shape)}" for name, tensor in tensors.items())
