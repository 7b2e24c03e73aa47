"""What is compiled: kernels by shapes and forms, in the configurations that a target's table gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from kernelet.contracts.op import DENSE, ScaleLevel, WeightScheme
from kernelet_device_triton.aot.cases import Case
from kernelet_device_triton.targets import Target
from kernelet_ops_triton import configurations
from kernelet_ops_triton.configurations import Tile
from kernelet_ops_triton.device import activations
from kernelet_ops_triton.device.gemm import gemm
from kernelet_ops_triton.device.masking import mask_tokens
from kernelet_ops_triton.device.norms import add_norm, norm
from kernelet_ops_triton.device.rotary import rotate
from kernelet_ops_triton.device.rounding import round_rows
from kernelet_ops_triton.device.sampling import sample
from kernelet_ops_triton.linear.launch import Form
from kernelet_ops_triton.linear.packing import form_of

TYPES = MappingProxyType(
    {
        **dict.fromkeys(("x", "out", "logits", "bias"), "*elements"),
        **dict.fromkeys(("weight", "cos", "sin", "residual", "total", "row_scales", "scales", "fixed"), "*fp32"),
        **dict.fromkeys(("draws", "maxima"), "*fp64"),
        **dict.fromkeys(("masks", "tiles"), "*i32"),
        **dict.fromkeys(("eps", "scale"), "fp32"),
        "tokens": "*i64",
    }
)
"""Of arguments; those that are not named are i32."""

OUTPUTS, INPUTS, VOCAB, HIDDEN, MIDDLE = 4096, 4096, 128256, 4096, 14336
KEPT = MappingProxyType({"dense": "*elements", "int8": "*i8"})
"""Elements of weights; of others in bytes."""


def _scheme(element: str, dtype: str, block: tuple[int, int], **more: Any) -> WeightScheme:
    return WeightScheme(element=element, scales=(ScaleLevel(dtype, block),), **more)


INT8 = MappingProxyType({"activation": "dynamic", "activation_element": "int8"})
FLOAT8 = MappingProxyType({"activation": "dynamic", "activation_element": "e4m3fn"})
SCHEMES = (
    DENSE,
    _scheme("int4", "float16", (1, 128)),
    _scheme("int4", "float16", (1, 32)),
    _scheme("uint4", "float16", (1, 128), zero_point="int"),
    _scheme("uint4", "float16", (1, 32), zero_point="offset"),
    _scheme("int4", "float16", (1, 0)),
    _scheme("int8", "float32", (1, 0)),
    _scheme("e4m3fn", "float32", (1, 0)),
    _scheme("e4m3fn", "float32", (128, 128)),
    _scheme("int8", "float32", (1, 0), **INT8),
    _scheme("int4", "float16", (1, 128), **INT8),
    _scheme("e4m3fn", "float32", (1, 0), **FLOAT8),
    _scheme("e4m3fn", "float32", (128, 128), **FLOAT8),
)
"""Of weights that checkpoints in use have."""


def cases(target: Target) -> Iterator[Case]:
    """Everything that a target is to run."""
    yield from _rows(target)
    yield from _vocabulary()
    for scheme in SCHEMES:
        products = (_product(target, scheme, height, "bf16") for height in (16, 64, 128))
        yield from {product.tile: product for product in products}.values()
    for dtype, scheme in (("fp16", DENSE), ("fp16", SCHEMES[1]), ("fp32", DENSE), ("fp32", SCHEMES[1])):
        yield _product(target, scheme, 64, dtype)
    for scheme in (DENSE, SCHEMES[1]):
        for height in (16, 64):
            yield _product(target, scheme, height, "bf16", grouped=True)


def _rows(target: Target) -> Iterator[Case]:
    for size, centered in ((HIDDEN, False), (128, False), (8192, True)):
        tile = configurations.whole_rows(target, size)
        more = {"size": size, "centered": centered, "has_bias": centered}
        words = f"bf16 {size}, {'layer' if centered else 'rms'}"
        yield _case("norm", norm, words, tile, more, is_default=True)
        if size >= HIDDEN:
            yield _case("add_norm", add_norm, words, tile, more, is_default=True)
    for name, kind in (("silu", activations.SILU), ("gelu", activations.GELU), ("gelu_tanh", activations.GELU_TANH)):
        for gated in (True, False):
            tile = configurations.parts_of_rows(target, MIDDLE)
            more = {"size": MIDDLE, "kind": kind.value, "gated": gated}
            words = f"bf16 {MIDDLE}, {name}{', gated' * gated}"
            yield _case("activate", activations.activate, words, tile, more, is_default=True)
    for interleaved in (False, True):
        more = {"size": 128, "rotary_size": 128, "interleaved": interleaved}
        words = f"bf16 128, {'neighbours' if interleaved else 'halves'}"
        yield _case("rotate", rotate, words, configurations.whole_rows(target, 128), more, is_default=True)
    for is_integer in (True, False):
        for is_static in (False, True):
            more = {"size": INPUTS, "is_static": is_static, "is_integer": is_integer}
            words = f"bf16 {INPUTS}, {'static' if is_static else 'dynamic'} {'int8' if is_integer else 'e4m3fn'}"
            out = {"out": "*i8" if is_integer else "*u8"}
            tile = configurations.of_rounding(INPUTS)
            yield _case("round_rows", round_rows, words, tile, more, types=out, is_default=True)


def _vocabulary() -> Iterator[Case]:
    tile = configurations.of_vocabulary(VOCAB)
    for dtype in ("fp32", "bf16"):
        words, more = f"{dtype} {VOCAB}", {"vocab": VOCAB}
        masks = {"rows": "*i64"}
        yield _case("mask_tokens", mask_tokens, words, tile, more, types=masks, dtype=dtype, is_default=True)
        for draw in (False, True):
            kernel = "sample, drawn" if draw else "sample, best"
            yield _case(kernel, sample, words, tile, more | {"draw": draw}, dtype=dtype, is_default=True)


def _case(
    kernel: str,
    function: Any,
    layer: str,
    tile: Tile,
    more: Mapping[str, Any],
    *,
    types: Mapping[str, str] = MappingProxyType({}),
    dtype: str = "bf16",
    is_default: bool = False,
) -> Case:
    constants = {**more, **tile.blocks, "block": tile.block_n}
    constants = {name: constants[name] for name in function.arg_names if name in constants}
    kinds = {name: {**TYPES, **types}.get(name, "i32") for name in function.arg_names if name not in constants}
    return Case(
        kernel=kernel,
        function=function,
        layer=layer,
        tile=f"{tile.block_m} x {tile.block_n}",
        constants=constants,
        types={name: kind.replace("elements", dtype) for name, kind in kinds.items()},
        num_warps=tile.num_warps,
        is_default=is_default,
    )


def _product(target: Target, scheme: WeightScheme, height: int, dtype: str, *, grouped: bool = False) -> Case:
    form = Form(outputs=OUTPUTS, inputs=INPUTS) if scheme == DENSE else form_of(scheme, OUTPUTS, INPUTS)
    rounded, itemsize = scheme.activation is not None, 4 if dtype == "fp32" else 2
    chosen = configurations.product(target, height, itemsize, form.group, rounded=rounded)
    constants = {
        **vars(form),
        **chosen.blocks,
        "has_bias": False,
        "grouped": grouped,
        "native": target.converts_e4m3fn,
    }
    given = {"int8": "*i8", "e4m3fn": "*u8"}.get(scheme.activation_element or "", "*elements")
    scales = {"float16": "*fp16"}.get(scheme.scales[0].dtype if scheme.scales else "", "*fp32")
    named = {
        "x": given,
        "weight": KEPT.get(scheme.element, "*u8"),
        "scales": scales,
        "zeros": "*u8" if scheme.zero_point == "int" else scales,
    }
    kinds = {name: {**TYPES, **named}.get(name, "i32") for name in gemm.arg_names if name not in constants}
    multiplies = dtype != "fp32"
    return Case(
        kernel="gemm, experts" if grouped else "gemm",
        function=gemm,
        layer=f"{dtype}, {scheme.describe()}",
        tile=f"{chosen.block_m} x {chosen.block_n} x {chosen.block_k}",
        constants=constants,
        types={name: kind.replace("elements", dtype) for name, kind in kinds.items()},
        num_warps=chosen.num_warps,
        num_stages=chosen.num_stages,
        is_default=multiplies,
        matrix="" if not multiplies else "large" if chosen.block_m >= 64 else "small",
    )
