"""Products of inputs with weights that are stored in many ways: one tile of outputs a program."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from kernelet_device_triton.device.elements import from_e4m3fn
from kernelet_ops_triton.device.elements import (
    DENSE,
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
    """[m, k], [n, k] -> x times w transposed, float32 [m, n]."""
    if inputs_are == INT8:
        result = tl.dot(x, tl.trans(w.to(tl.int8)), out_dtype=tl.int32).to(tl.float32)
    elif inputs_are == FLOAT8:
        if native:
            left, right = x.to(tl.float8e4nv, bitcast=True), w.to(tl.float8e4nv, bitcast=True)
            # sums of the matrix unit may have fewer bits than float32: each step has its own
            result = tl.dot(left, tl.trans(right), max_num_imprecise_acc=block_k)
        else:
            left, right = from_e4m3fn(x, tl.float16, native), from_e4m3fn(w, tl.float16, native)
            result = tl.dot(left, tl.trans(right))
    else:
        result = tl.dot(x, tl.trans(w), input_precision="ieee")
    return result


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
        weight: [experts, outputs, inputs], as ``stored`` has it.
        scales: [experts, ceil(outputs / over_rows), columns].
        zeros: The same, where ``zeros_are`` there.
        row_scales: float32 [rows], of inputs that were rounded.
        bias: [outputs], if there is one.
        tiles: int32 [number, 3], if ``grouped``: expert, first row, and the row behind the last one.
        out: [rows, outputs].
        rows: Number of rows.
        number: Of tiles of rows.
        x_stride: Elements.
        outputs: Of the weight.
        inputs: Of the weight.
        element: Of ``device.elements``.
        origin: What is subtracted from nibbles.
        columns: Groups of a row.
        over_rows: Outputs that share a scale.
        group: Inputs that share a scale; at least ``block_k`` where inputs were rounded.
        zeros_are: Of ``device.elements``.
        late: Scales do not depend on the input, and are multiplied with sums.
        inputs_are: What inputs were rounded to.
        has_bias: There is one.
        grouped: Tiles have weights of experts.
        native: The target converts e4m3fn itself.
    """
    tile = tl.program_id(0) % number
    n = tl.program_id(0) // number * block_n + tl.arange(0, block_n)
    first, end = tile * block_m, rows
    if grouped:
        expert = tl.load(tiles + 3 * tile).to(tl.int64)
        first, end = tl.load(tiles + 3 * tile + 1), tl.load(tiles + 3 * tile + 2)
        weight += expert * (outputs * ((inputs + 1) // 2 if element == 2 else inputs))
        scales += expert * ((outputs + over_rows - 1) // over_rows * columns)
        zeros += expert * ((outputs + over_rows - 1) // over_rows * columns)
    m = first + tl.arange(0, block_m)
    start = x + m.to(tl.int64)[:, None] * x_stride
    total = tl.zeros([block_m, block_n], tl.float32)
    for step in range(tl.cdiv(inputs, block_k)):
        column = step * block_k
        place = column + tl.arange(0, block_k)
        given = tl.load(start + place[None, :], mask=(m < end)[:, None] & (place < inputs)[None, :], other=0)
        w = stored(weight, n, column, outputs, inputs, element, origin, block_k)
        if inputs_are != AS_THEY_ARE:
            part = product(given, w, native, inputs_are, block_k)
            if not late:
                scale = tl.trans(of_groups(scales, n, column, outputs, columns, over_rows, group, block_n, block_k))
                part = part * scale
                if zeros_are != NO_ZEROS:
                    zero = tl.trans(of_groups(zeros, n, column, outputs, columns, over_rows, group, block_n, block_k))
                    some = tl.sum(given.to(tl.float32), 1)[:, None]
                    part += some * (zero if zeros_are == OFFSETS else -zero * scale)
            total += part
        else:
            if element != DENSE:
                wide = numbers(w, element, native)
                if zeros_are == ZERO_POINTS:
                    wide -= of_groups(zeros, n, column, outputs, columns, over_rows, group, block_n, block_k)
                if not late:
                    wide *= of_groups(scales, n, column, outputs, columns, over_rows, group, block_n, block_k)
                if zeros_are == OFFSETS:
                    wide += of_groups(zeros, n, column, outputs, columns, over_rows, group, block_n, block_k)
                inside = (n < outputs)[:, None] & (place < inputs)[None, :]
                w = tl.where(inside, wide, 0.0).to(x.dtype.element_ty)
            total = tl.dot(given, tl.trans(w), total, input_precision="ieee")
    if late:
        total *= tl.load(scales + n // over_rows * columns, mask=n < outputs, other=0.0).to(tl.float32)[None, :]
    if inputs_are != AS_THEY_ARE:
        total *= tl.load(row_scales + m, mask=m < end, other=0.0)[:, None]
    if has_bias:
        total += tl.load(bias + n, mask=n < outputs, other=0.0).to(tl.float32)[None, :]
    into = out + m.to(tl.int64)[:, None] * outputs + n[None, :]
    tl.store(into, total.to(out.dtype.element_ty), mask=(m < end)[:, None] & (n < outputs)[None, :])
