"""Weights as a quantization method stores them: what it says of a layer, and canonical tensors of what it quantizes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

import msgspec
import torch
from torch import Tensor

from kernelet.contracts.op import WeightScheme
from kernelet.contracts.quant import QuantizationMethod, QuantLayer
from kernelet.errors import PluginError, UnsupportedModelError

OF_THE_INPUT = ("permutation", "input_scale")
"""Canonical tensors that all rows share."""


SCALE_BYTES: Mapping[str, int] = MappingProxyType({"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2})
"""Of a scale; of other dtypes 1."""


@dataclass(frozen=True, kw_only=True)
class Module:
    """A module of the checkpoint and this rank's rows of it."""

    layer: QuantLayer
    rows: int


def ask(method: QuantizationMethod, name: str, modules: Sequence[Module]) -> WeightScheme | None:
    """How a weight that is made of these modules is stored; None: unquantized.

    Raises:
        UnsupportedModelError: the method stores them differently.
        PluginError: the method answers something else than a scheme.
    """
    answers = {module.layer.name: method.scheme(module.layer) for module in modules}
    for module, answer in answers.items():
        if answer is not None and not isinstance(answer, WeightScheme):
            raise PluginError(
                f"{type(method).__module__}:{type(method).__qualname__}.scheme({module}) returned "
                f"{type(answer).__name__}, not WeightScheme or None"
            )
    first = next(iter(answers.values()))
    if any(answer != first for answer in answers.values()):
        said = ", ".join(f"{one} {'unquantized' if how is None else how.describe()}" for one, how in answers.items())
        raise UnsupportedModelError(
            f"{name} is computed as one weight, and its parts are stored differently: {said}. "
            f"Quantize all of them in the same way, or none"
        )
    return first if first is None or len(modules) == 1 else _a_row(first)


def canonical_tensors(
    method: QuantizationMethod, scheme: WeightScheme, modules: Sequence[Module], weight: Tensor
) -> dict[str, Tensor]:
    """Quantizes an unquantized weight, module by module.

    Args:
        method: Who quantizes.
        scheme: What ``ask`` said.
        modules: What the rows of the weight are of; where it is one of experts, those of each expert in turn.
        weight: [out, in] or [experts, out, in] of this rank.

    Raises:
        PluginError: the method made something else than the scheme says.
    """
    if weight.dim() == 3:
        each = len(modules) // len(weight)
        made = [
            canonical_tensors(method, scheme, modules[index * each : (index + 1) * each], expert)
            for index, expert in enumerate(weight)
        ]
        return {name: torch.stack([one[name] for one in made]) for name in made[0]}
    pieces = weight.split([module.rows for module in modules])
    made = [_quantize(method, module, piece) for module, piece in zip(modules, pieces, strict=True)]
    return made[0] if len(made) == 1 else _stack(scheme, modules, made)


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
        blocks = prod(shape[:-2]) * prod(_blocks(shape[-2:], level.block))
        scale = 8 * SCALE_BYTES.get(level.dtype, 1)
        total += blocks * scale
        if index == 0 and scheme.zero_point is not None:
            total += blocks * (bits if scheme.zero_point == "int" else scale)
    return -(-total // 8)


def _bits(element: str) -> int:
    """Width of an element type by its name, ``"int4"``, ``"e4m3fn"``, ``"nf4"``; 0 for another name."""
    if found := re.fullmatch(r"e(\d)m(\d)[a-z]*", element):
        return 1 + int(found[1]) + int(found[2])
    found = re.fullmatch(r"[a-z]+(\d+)", element)
    return int(found[1]) if found else 0


def _quantize(method: QuantizationMethod, module: Module, weight: Tensor) -> dict[str, Tensor]:
    """Canonical tensors of one module, checked."""
    scheme = method.scheme(module.layer)
    assert scheme is not None
    shape = tuple(weight.shape)
    made = dict(method.canonical(module.layer, {"weight": weight}))
    expected = {"weight": shape} | {name: _blocks(shape, block) for name, block in _levels(scheme)}
    expected |= {"permutation": shape[1:]} if scheme.permuted else {}
    expected |= {"input_scale": ()} if scheme.activation == "static" else {}
    found = {name: tuple(tensor.shape) for name, tensor in made.items()}
    if found != expected:
        who = f"{type(method).__module__}:{type(method).__qualname__}"
        raise PluginError(
            f"{who}.canonical({module.layer.name}) made {found}, but {scheme.describe()} of {shape} is {expected}"
        )
    return made


def _stack(scheme: WeightScheme, modules: Sequence[Module], made: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Puts the rows of several modules below each other."""
    stacked: dict[str, Tensor] = {}
    for name, first in made[0].items():
        pieces = [one[name] for one in made]
        if name in OF_THE_INPUT:
            if any(not torch.equal(first, piece) for piece in pieces):
                names = ", ".join(module.layer.name for module in modules)
                raise UnsupportedModelError(f"{names} are computed as one weight, and each has a {name} of its own")
            stacked[name] = first
        elif dict(_levels(scheme)).get(name, (0, 0))[0] == 1:
            rows = [max(len(piece), module.rows) for piece, module in zip(pieces, modules, strict=True)]
            stacked[name] = torch.cat([piece.expand(count, -1) for piece, count in zip(pieces, rows, strict=True)])
        else:
            stacked[name] = torch.cat(pieces)
    return stacked


def _blocks(shape: tuple[int, ...], block: tuple[int, int]) -> tuple[int, ...]:
    return tuple(-(-size // over) if over else 1 for size, over in zip(shape, block, strict=True))


def _a_row(scheme: WeightScheme) -> WeightScheme:
    """The scheme of stacked weights: a scale of a whole column of blocks becomes one a row."""
    blocks = [(level.block[0] or 1, level.block[1]) for level in scheme.scales]
    levels = [msgspec.structs.replace(level, block=block) for level, block in zip(scheme.scales, blocks, strict=True)]
    return msgspec.structs.replace(scheme, scales=tuple(levels))


def _levels(scheme: WeightScheme) -> list[tuple[str, tuple[int, int]]]:
    named = [("scales" if index == 0 else f"scales_{index}", level.block) for index, level in enumerate(scheme.scales)]
    return [*named, *([("zero_points", scheme.scales[0].block)] if scheme.zero_point and scheme.scales else [])]
