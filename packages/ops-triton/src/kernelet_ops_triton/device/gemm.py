"""Products of inputs with weights that are stored in many ways: one tile of outputs a program."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from kernelet_device_triton.device.elements import from_e4m3fn
from kernelet_ops_triton.device.elements import (
    DENSE,
    NIBBLES,
    NO_ZEROS,
    OFFSETS,
    ZERO_POINTS,
    numbers,
    of_groups,
    stored,
)

# fmt: off

AS_THEY_ARE = tl.constexpr(0)
INT8 = tl.constexpr(1)
FLOAT8 = tl.constexpr(2)
"""e4m3fn."""


@triton.jit
def product(x: tl.tensor, w: tl.tensor, native: tl.constexpr, inputs_are: tl.constexpr, block_k: tl.constexpr) -> Any:
    """Of rounded inputs: [m, k], [n, k] -> x times w transposed, float32 [m, n]."""
    if inputs_are == INT8:
        result = tl.dot(x, tl.trans(w.to(tl.int8)), out_dtype=tl.int32).to(tl.float32)
    elif native:
        left, right = x.to(tl.float8e4nv, bitcast=True), w.to(tl.float8e4nv, bitcast=True)
        # sums of the matrix unit may have fewer bits than float32: each step has its own
        result = tl.dot(left, tl.trans(right), max_num_imprecise_acc=block_k)
    else:
        left, right = from_e4m3fn(x, tl.float16, native), from_e4m3fn(w, tl.float16, native)
        result = tl.dot(left, tl.trans(right))
    return result


@triton.jit
def scaled(
    part: tl.tensor, given: tl.tensor, scales: tl.tensor, zeros: tl.tensor, n: tl.tensor, column: tl.tensor,
    outputs: tl.constexpr, columns: tl.constexpr, over_rows: tl.constexpr, group: tl.constexpr,
    zeros_are: tl.constexpr, block_n: tl.constexpr, block_k: tl.constexpr,
) -> Any:
    """A step of a product of rounded inputs, [m, n], with the one scale that it has for each output."""
    scale = tl.trans(of_groups(scales, n, column, outputs, columns, over_rows, group, block_n, block_k))
    result = part * scale
    if zeros_are != NO_ZEROS:
        zero = tl.trans(of_groups(zeros, n, column, outputs, columns, over_rows, group, block_n, block_k))
        result += tl.sum(given.to(tl.float32), 1)[:, None] * (zero if zeros_are == OFFSETS else -zero * scale)
    return result


@triton.jit
def dequantized(
    kept: tl.tensor, scales: tl.tensor, zeros: tl.tensor, n: tl.tensor, column: tl.tensor,
    outputs: tl.constexpr, inputs: tl.constexpr, element: tl.constexpr,
    columns: tl.constexpr, over_rows: tl.constexpr, group: tl.constexpr, zeros_are: tl.constexpr, late: tl.constexpr,
    native: tl.constexpr, block_n: tl.constexpr, block_k: tl.constexpr,
) -> Any:
    """Elements [n, k] of a step -> float32, without the scale that is multiplied later; 0 where there are none."""
    result = numbers(kept, element, native)
    if zeros_are == ZERO_POINTS:
        result -= of_groups(zeros, n, column, outputs, columns, over_rows, group, block_n, block_k)
    if not late:
        result *= of_groups(scales, n, column, outputs, columns, over_rows, group, block_n, block_k)
    if zeros_are == OFFSETS:
        result += of_groups(zeros, n, column, outputs, columns, over_rows, group, block_n, block_k)
    inside = (n < outputs)[:, None] & (column + tl.arange(0, block_k) < inputs)[None, :]
    return tl.where(inside, result, 0.0)


@triton.jit
def gemm(
    x: tl.tensor, weight: tl.tensor, scales: tl.tensor, zeros: tl.tensor, row_scales: tl.tensor, bias: tl.tensor,
    tiles: tl.tensor, out: tl.tensor, rows: tl.tensor, number: tl.tensor, x_stride: tl.tensor,
    outputs: tl.constexpr, inputs: tl.constexpr, element: tl.constexpr, origin: tl.constexpr,
    columns: tl.constexpr, over_rows: tl.constexpr, group: tl.constexpr, zeros_are: tl.constexpr, late: tl.constexpr,
    inputs_are: tl.constexpr, has_bias: tl.constexpr, grouped: tl.constexpr, native: tl.constexpr,
    block_m: tl.constexpr, block_n: tl.constexpr, block_k: tl.constexpr,
) -> None:
    """Grid: tiles of rows times tiles of outputs; programs that share a tile of the weight come one after the other.

    Args:
        x: [rows, inputs]; rows lie ``x_stride`` apart. int8, or the bits of e4m3fn, where ``inputs_are`` these.
        weight: [experts, outputs, inputs], as ``stored`` has it; what follows it in the list of parameters from
            ``outputs`` to ``inputs_are`` says ``linear.launch.Form``.
        scales: [experts, ceil(outputs / over_rows), columns]; so are ``zeros``.
        row_scales: float32 [rows], of inputs that were rounded.
        bias: [outputs], if there is one.
        tiles: int32 [number, 3], if ``grouped``: expert, first row, and the row behind the last one.
        out: [rows, outputs].
        number: Of tiles of rows.
    """
    tile = tl.program_id(0) % number
    n = tl.program_id(0) // number * block_n + tl.arange(0, block_n)
    first, end = tile * block_m, rows
    if grouped:
        expert = tl.load(tiles + 3 * tile).to(tl.int64)
        first, end = tl.load(tiles + 3 * tile + 1), tl.load(tiles + 3 * tile + 2)
        groups = (outputs + over_rows - 1) // over_rows * columns
        weight += expert * outputs * ((inputs + 1) // 2 if element == NIBBLES else inputs)
        scales, zeros = scales + expert * groups, zeros + expert * groups
    m, place = first + tl.arange(0, block_m), tl.arange(0, block_k)
    start = x + m.to(tl.int64)[:, None] * x_stride
    total = tl.zeros([block_m, block_n], tl.float32)
    for step in range(tl.cdiv(inputs, block_k)):
        column = step * block_k
        fits = (m < end)[:, None] & (column + place < inputs)[None, :]
        given = tl.load(start + column + place[None, :], mask=fits, other=0)
        w = stored(weight, n, column, outputs, inputs, element, origin, block_k)
        if inputs_are != AS_THEY_ARE:
            part = product(given, w, native, inputs_are, block_k)
            total += part if late else scaled(
                part, given, scales, zeros, n, column, outputs, columns, over_rows, group, zeros_are, block_n, block_k
            )
        else:
            if element != DENSE:
                w = dequantized(
                    w, scales, zeros, n, column, outputs, inputs, element, columns, over_rows, group, zeros_are, late,
                    native, block_n, block_k,
                ).to(x.dtype.element_ty)
            total = tl.dot(given, tl.trans(w), total, input_precision="ieee")
    if late:
        total *= tl.load(scales + n // over_rows * columns, mask=n < outputs, other=0.0).to(tl.float32)[None, :]
    if inputs_are != AS_THEY_ARE:
        total *= tl.load(row_scales + m, mask=m < end, other=0.0)[:, None]
    if has_bias:
        total += tl.load(bias + n, mask=n < outputs, other=0.0).to(tl.float32)[None, :]
    into = out + m.to(tl.int64)[:, None] * outputs + n[None, :]
    tl.store(into, total.to(out.dtype.element_ty), mask=(m < end)[:, None] & (n < outputs)[None, :])
