"""Activations, and gates of two halves of a row."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

# fmt: off

SILU = tl.constexpr(0)
GELU = tl.constexpr(1)
GELU_TANH = tl.constexpr(2)
RELU = tl.constexpr(3)
RELU2 = tl.constexpr(4)
QUICK_GELU = tl.constexpr(5)

ROOT_HALF = tl.constexpr(0.7071067811865476)
ROOT_8_OVER_PI = tl.constexpr(1.5957691216057308)


@triton.jit
def activated(x: tl.tensor, kind: tl.constexpr) -> Any:
    """float32 -> the same shape; NaN stays."""
    if kind == SILU:
        result = x * tl.sigmoid(x)
    elif kind == GELU:
        result = 0.5 * x * (1.0 + tl.erf(x * ROOT_HALF))
    elif kind == GELU_TANH:  # (1 + tanh(u)) / 2 is the sigmoid of 2 u
        result = x * tl.sigmoid((x + 0.044715 * x * x * x) * ROOT_8_OVER_PI)
    elif kind == QUICK_GELU:
        result = x * tl.sigmoid(1.702 * x)
    else:
        result = tl.where(x < 0.0, 0.0, x)
        if kind == RELU2:
            result = result * result
    return result


@triton.jit
def activate(
    x: tl.tensor, out: tl.tensor, rows: tl.tensor, x_stride: tl.tensor,
    size: tl.constexpr, kind: tl.constexpr, gated: tl.constexpr, block_m: tl.constexpr, block_n: tl.constexpr,
) -> None:
    """Grid: rows, ``block_m`` a program; elements of a row, ``block_n`` a program.

    Args:
        x: [rows, size], or [rows, 2 * size] where the first half of a row is the gate of its second half; rows lie
            ``x_stride`` apart.
        out: [rows, size].
        rows: Number of rows.
        x_stride: Elements.
    """
    row = tl.program_id(0).to(tl.int64) * block_m + tl.arange(0, block_m)
    place = tl.program_id(1) * block_n + tl.arange(0, block_n)
    fits = (row < rows)[:, None] & (place < size)[None, :]
    start = x + (row * x_stride)[:, None] + place[None, :]
    result = activated(tl.load(start, mask=fits, other=0.0).to(tl.float32), kind)
    if gated:
        result = result * tl.load(start + size, mask=fits, other=0.0).to(tl.float32)
    tl.store(out + (row * size)[:, None] + place[None, :], result.to(out.dtype.element_ty), mask=fits)
