"""Norms of rows, with what is added to a residual stream before."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

# fmt: off


@triton.jit
def normed(
    x: tl.tensor, weight: tl.tensor, bias: tl.tensor, eps: tl.tensor, place: tl.tensor,
    size: tl.constexpr, centered: tl.constexpr, has_bias: tl.constexpr,
) -> Any:
    """float32 [rows, block], 0 beyond ``size`` -> the norm of each row; of its distance to the mean, if centered."""
    inside = place < size
    if centered:
        x = tl.where(inside[None, :], x - (tl.sum(x, 1) / size)[:, None], 0.0)
    scale = tl.rsqrt(tl.sum(x * x, 1) / size + eps)
    result = x * scale[:, None] * tl.load(weight + place, mask=inside, other=0.0).to(tl.float32)[None, :]
    if has_bias:
        result += tl.load(bias + place, mask=inside, other=0.0).to(tl.float32)[None, :]
    return result


@triton.jit
def norm(
    x: tl.tensor, weight: tl.tensor, bias: tl.tensor, out: tl.tensor,
    rows: tl.tensor, heads: tl.tensor, x_stride: tl.tensor, head_stride: tl.tensor, eps: tl.tensor,
    size: tl.constexpr, centered: tl.constexpr, has_bias: tl.constexpr,
    block_m: tl.constexpr, block_n: tl.constexpr,
) -> None:
    """Grid: rows, ``block_m`` a program.

    Args:
        x: [tokens, heads, size]; tokens lie ``x_stride`` apart, heads of a token ``head_stride``.
        weight: [size].
        bias: The same, if there is one.
        out: [rows, size].
        rows: Tokens times heads.
        heads: Of a token.
        x_stride: Elements.
        head_stride: Elements.
        eps: Added to the mean square.
    """
    row = tl.program_id(0) * block_m + tl.arange(0, block_m)
    place = tl.arange(0, block_n)
    fits = (row < rows)[:, None] & (place < size)[None, :]
    start = (row // heads).to(tl.int64) * x_stride + (row % heads).to(tl.int64) * head_stride
    given = tl.load(x + start[:, None] + place[None, :], mask=fits, other=0.0).to(tl.float32)
    found = normed(given, weight, bias, eps, place, size, centered, has_bias)
    tl.store(out + row.to(tl.int64)[:, None] * size + place[None, :], found.to(out.dtype.element_ty), mask=fits)


@triton.jit
def add_norm(
    residual: tl.tensor, x: tl.tensor, weight: tl.tensor, bias: tl.tensor, total: tl.tensor, out: tl.tensor,
    rows: tl.tensor, residual_stride: tl.tensor, x_stride: tl.tensor, scale: tl.tensor, eps: tl.tensor,
    size: tl.constexpr, centered: tl.constexpr, has_bias: tl.constexpr,
    block_m: tl.constexpr, block_n: tl.constexpr,
) -> None:
    """Grid: rows, ``block_m`` a program.

    Args:
        residual: float32 [rows, size]; rows lie ``residual_stride`` apart.
        x: [rows, size]; rows lie ``x_stride`` apart.
        weight: float32 [size].
        bias: The same, if there is one.
        total: float32 [rows, size], of the result: ``residual + scale * x``.
        out: [rows, size], its norm.
        rows: Number of rows.
        residual_stride: Elements.
        x_stride: Elements.
        scale: Of what is added.
        eps: Added to the mean square.
    """
    row = tl.program_id(0) * block_m + tl.arange(0, block_m)
    place = tl.arange(0, block_n)
    fits = (row < rows)[:, None] & (place < size)[None, :]
    row = row.to(tl.int64)
    before = tl.load(residual + (row * residual_stride)[:, None] + place[None, :], mask=fits, other=0.0)
    more = tl.load(x + (row * x_stride)[:, None] + place[None, :], mask=fits, other=0.0)
    after = before.to(tl.float32) + scale * more.to(tl.float32)
    into = (row * size)[:, None] + place[None, :]
    tl.store(total + into, after, mask=fits)
    found = normed(after, weight, bias, eps, place, size, centered, has_bias)
    tl.store(out + into, found.to(out.dtype.element_ty), mask=fits)
