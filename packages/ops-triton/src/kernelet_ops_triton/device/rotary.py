"""Rotates vectors of heads by their positions."""

from __future__ import annotations

import triton
import triton.language as tl

from kernelet_device_triton.device.rotation import rotated

# fmt: off


@triton.jit
def rotate(
    x: tl.tensor, cos: tl.tensor, sin: tl.tensor, out: tl.tensor,
    rows: tl.tensor, heads: tl.tensor, x_stride: tl.tensor, head_stride: tl.tensor,
    size: tl.constexpr, rotary_size: tl.constexpr, interleaved: tl.constexpr,
    block_m: tl.constexpr, block_n: tl.constexpr,
) -> None:
    """Grid: rows, ``block_m`` a program. Not in place: programs read an element while another thread rotates it.

    Args:
        x: [tokens, heads, size]; tokens lie ``x_stride`` apart, heads of a token ``head_stride``.
        cos: float32 [tokens, rotary_size].
        sin: The same; negative where the rotation subtracts.
        out: [tokens, heads, size].
        rows: Tokens times heads.
        heads: Of a token.
        x_stride: Elements.
        head_stride: Elements.
    """
    row = tl.program_id(0) * block_m + tl.arange(0, block_m)
    place = tl.arange(0, block_n)
    valid = row < rows
    fits = valid[:, None] & (place < size)[None, :]
    token = (row // heads).to(tl.int64)
    start = token * x_stride + (row % heads).to(tl.int64) * head_stride
    given = tl.load(x + start[:, None] + place[None, :], mask=fits, other=0.0).to(tl.float32)
    turned = rotated(given, x, start, valid, cos, sin, token * rotary_size, rotary_size, block_n, interleaved)
    tl.store(out + row.to(tl.int64)[:, None] * size + place[None, :], turned.to(out.dtype.element_ty), mask=fits)
