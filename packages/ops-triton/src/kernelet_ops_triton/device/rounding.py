"""Rounds rows of inputs to 8 bits."""

from __future__ import annotations

import triton
import triton.language as tl

from kernelet_device_triton.device.elements import LEAST_NORMAL, nearest_whole, to_e4m3fn

# fmt: off


@triton.jit
def round_rows(
    x: tl.tensor, fixed: tl.tensor, out: tl.tensor, scales: tl.tensor, x_stride: tl.tensor,
    size: tl.constexpr, is_static: tl.constexpr, is_integer: tl.constexpr, block: tl.constexpr,
) -> None:
    """Grid: rows.

    Args:
        x: [rows, size]; rows lie ``x_stride`` apart.
        fixed: float32 [], the scale of all rows, if it ``is_static``; else it is a row's largest magnitude over the
            largest number.
        out: [rows, size]: int8, or the bits of e4m3fn.
        scales: float32 [rows], of the result; NaN where a row is not finite.
        x_stride: Elements.
    """
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, block)
    x += row * x_stride
    sizes = tl.zeros([block], tl.float32)
    broken = tl.zeros([block], tl.int32)
    for start in range(0, size, block):
        given = tl.abs(tl.load(x + start + place, mask=start + place < size, other=0.0).to(tl.float32))
        broken |= tl.where(given < float("inf"), 0, 1)
        sizes = tl.maximum(sizes, given)
    most: tl.constexpr = 127.0 if is_integer else 448.0
    scale = tl.load(fixed) if is_static else tl.div_rn(tl.max(sizes, 0), most)
    scale = tl.where(scale < LEAST_NORMAL, 0.0, scale)
    divisor = tl.where(scale > 0.0, scale, 1.0)
    for start in range(0, size, block):
        inside = start + place < size
        given = tl.load(x + start + place, mask=inside, other=0.0).to(tl.float32)
        over = tl.div_rn(tl.where(scale > 0.0, given, 0.0), divisor)
        over = tl.minimum(tl.maximum(over, -most), most)
        if is_integer:
            tl.store(out + row * size + start + place, nearest_whole(over).to(tl.int8), mask=inside)
        else:
            tl.store(out + row * size + start + place, to_e4m3fn(over), mask=inside)
    tl.store(scales + row, tl.where(tl.max(broken, 0) == 1, float("nan"), scale))
