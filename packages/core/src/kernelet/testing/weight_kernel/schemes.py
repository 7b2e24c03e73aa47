"""Schemes that formats in use have, and random weights of them in canonical form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from types import MappingProxyType

import msgspec
import torch
from torch import Tensor

from kernelet.contracts.op import DENSE, ScaleLevel, WeightScheme
from kernelet.testing.weight_kernel.reference import ELEMENTS, LARGEST, blocks_of, offsets_name, scales_name

ROWS, WHOLE = (1, 0), (0, 0)
GROUPS, WIDE_GROUPS, TILES = (1, 32), (1, 128), (128, 128)
SMALL, SUPER = (1, 16), (1, 256)
WHOLE_SCALES: Mapping[str, float] = MappingProxyType({"uint8": 40.0, "int8": 24.0})
"""Typical sub-scales that are whole numbers."""


def _of(element: str, *levels: tuple[str, tuple[int, int]], zero_point: str | None = None) -> WeightScheme:
    scales = tuple(ScaleLevel(dtype, block) for dtype, block in levels)
    return WeightScheme(element=element, scales=scales, zero_point=zero_point)


_INT8 = _of("int8", ("float32", ROWS))
_INT4 = _of("int4", ("float16", GROUPS))
_FLOAT8 = _of("e4m3fn", ("float32", ROWS))

SCHEMES: tuple[WeightScheme, ...] = (
    DENSE,
    _INT8,
    _of("int8", ("float32", WHOLE)),
    _of("int8", ("bfloat16", GROUPS)),
    _of("int8", ("float32", ROWS), zero_point="int"),
    _INT4,
    _of("int4", ("float32", WIDE_GROUPS)),
    _of("int4", ("bfloat16", GROUPS), zero_point="int"),
    _of("int4", ("float32", GROUPS), zero_point="float"),
    _of("uint4", ("float16", WIDE_GROUPS), zero_point="int"),
    msgspec.structs.replace(_INT4, permuted=True),
    msgspec.structs.replace(_of("int4", ("float32", GROUPS), zero_point="int"), permuted=True),
    _FLOAT8,
    _of("e4m3fn", ("float32", WHOLE)),
    _of("e4m3fn", ("float32", TILES)),
    _of("e5m2", ("float32", WHOLE)),
    _of("int4", ("e4m3fn", SMALL), ("float32", WHOLE)),
    _of("uint4", ("float16", GROUPS), zero_point="offset"),
    _of("uint5", ("float16", GROUPS), zero_point="offset"),
    _of("uint2", ("uint8", SMALL), ("float16", SUPER), zero_point="offset"),
    _of("int3", ("int8", SMALL), ("float16", SUPER)),
    _of("uint4", ("uint8", GROUPS), ("float16", SUPER), zero_point="offset"),
    _of("int6", ("int8", SMALL), ("float16", SUPER)),
    msgspec.structs.replace(_INT8, activation="dynamic", activation_element="int8"),
    msgspec.structs.replace(_INT8, activation="static", activation_element="int8"),
    msgspec.structs.replace(_INT4, activation="dynamic", activation_element="int8"),
    msgspec.structs.replace(
        _of("int4", ("bfloat16", GROUPS), zero_point="int"), activation="dynamic", activation_element="int8"
    ),
    msgspec.structs.replace(
        _of("uint4", ("float16", GROUPS), zero_point="offset"), activation="dynamic", activation_element="int8"
    ),
    msgspec.structs.replace(_FLOAT8, activation="dynamic", activation_element="e4m3fn"),
    msgspec.structs.replace(_FLOAT8, activation="static", activation_element="e4m3fn"),
)
"""What a kernel is asked whether it supports."""


def describe(scheme: WeightScheme) -> str:
    """A scheme in words."""
    words = [scheme.opaque or scheme.element]
    words += [f"{level.dtype} scales of blocks {level.block}" for level in scheme.scales]
    if scheme.zero_point:
        words.append("offsets" if scheme.zero_point == "offset" else f"{scheme.zero_point} zero points")
    if scheme.permuted:
        words.append("permuted inputs")
    if scheme.activation:
        words.append(f"{scheme.activation} {scheme.activation_element} inputs")
    return ", ".join(words)


def strange_ones(scheme: WeightScheme) -> Iterator[WeightScheme]:
    """The scheme with one more property that nobody has heard of."""
    strange = "strange-to-the-kit"
    yield msgspec.structs.replace(scheme, element=strange)
    yield msgspec.structs.replace(scheme, opaque=strange)
    yield msgspec.structs.replace(scheme, zero_point=strange)
    yield msgspec.structs.replace(scheme, activation=strange)
    if scheme.activation:
        yield msgspec.structs.replace(scheme, activation_element=strange)
    yield msgspec.structs.replace(scheme, codebook=7)
    yield msgspec.structs.replace(scheme, scales=(*scheme.scales, ScaleLevel(strange, (1, 1))))


def make_weights(scheme: WeightScheme, shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> dict[str, Tensor]:
    """Random canonical tensors of a weight whose products with normal inputs are about 1.

    Args:
        scheme: One with a canonical form.
        shape: [out, in] or [experts, out, in].
        dtype: The layer's.
        seed: Equal seeds give equal tensors.
    """
    generator = torch.Generator().manual_seed(seed)
    size = shape[-1] ** -0.5
    if scheme.element == "dense":
        return {"weight": (torch.randn(shape, generator=generator, dtype=torch.float64) * size).to(dtype)}
    stored, spread = _elements(scheme.element, shape, generator)
    weights = {"weight": stored}
    for index, level in enumerate(scheme.scales):
        whole = level.dtype in WHOLE_SCALES
        size /= WHOLE_SCALES[level.dtype] if whole else 1
        last = index == len(scheme.scales) - 1
        names = {scales_name(index): size / spread}
        names |= {offsets_name(index): -size} if scheme.zero_point == "offset" else {}
        for name, unit in names.items():
            drawn = 0.5 + torch.rand(blocks_of(level, shape), generator=generator, dtype=torch.float64)
            made = drawn * (unit if last else WHOLE_SCALES.get(level.dtype, 1))
            if level.dtype == "int8":
                made *= torch.randint(0, 2, made.shape, generator=generator) * 2 - 1
            weights[name] = (made.round() if whole else made).to(_dtype(level.dtype))
    if scheme.zero_point in {"int", "float"}:
        blocks = blocks_of(scheme.scales[0], shape)
        points, _ = _elements(scheme.element, blocks, generator)
        shifted = points.double() / 2
        weights["zero_points"] = (
            shifted.to(points.dtype) if scheme.zero_point == "int" else (shifted + 0.25).to(weights["scales"].dtype)
        )
    if scheme.permuted:
        orders = [torch.randperm(shape[-1], generator=generator) for _ in range(prod(shape[:-2]))]
        weights["permutation"] = torch.stack(orders).to(torch.int32).view(*shape[:-2], shape[-1])
    if scheme.activation == "static":
        weights["input_scale"] = torch.tensor(5.0 / LARGEST[scheme.activation_element or ""])
    return weights


def _elements(element: str, shape: tuple[int, ...], generator: torch.Generator) -> tuple[Tensor, float]:
    """Stored values over the whole range of the type, and their typical size."""
    dtype = ELEMENTS[element]
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).mul_(32).to(dtype), 32.0
    levels = 1 << int(element.removeprefix("u").removeprefix("int"))
    low = 0 if element.startswith("u") else -levels // 2
    return torch.randint(low, low + levels, shape, generator=generator, dtype=dtype), levels / 3


def _dtype(name: str) -> torch.dtype:
    found: torch.dtype = ELEMENTS[name] if name in ELEMENTS else getattr(torch, name)
    return found
