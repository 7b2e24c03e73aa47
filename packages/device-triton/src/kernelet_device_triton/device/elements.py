"""Numbers of 8 bits in plain arithmetic, which has the same bits on every target."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

PLAIN = tl.constexpr(0)
E4M3FN = tl.constexpr(1)
INT8 = tl.constexpr(2)

LARGEST_E4M3FN = tl.constexpr(448.0)
LEAST_NORMAL = tl.constexpr(1.1754943508222875e-38)
"""Of float32."""
ROUND = tl.constexpr(12582912.0)
"""1.5 * 2**23: a float32 that is added to it is rounded to a whole number, ties to even, in its last bits."""
ROUND_BITS = tl.constexpr(0x4B400000)


@triton.jit
def nearest_whole(x: tl.tensor) -> Any:
    """float32 below 2**22 -> int32, ties to even."""
    return (x + ROUND).to(tl.int32, bitcast=True) - ROUND_BITS


@triton.jit
def to_e4m3fn(x: tl.tensor) -> Any:
    """float32 -> the bits, uint8: nearest, ties to even; what is too large becomes the largest, NaN stays."""
    size = tl.minimum(tl.abs(x), LARGEST_E4M3FN)
    bits = size.to(tl.int32, bitcast=True)
    normal = ((bits + 0x7FFFF + ((bits >> 20) & 1)) >> 20) - 960  # exponents are biased by 127 and by 7
    small = nearest_whole(tl.minimum(size, 1.0) * 512.0)
    code = tl.where(size < 0.015625, small, normal)
    code = tl.where(x == x, code, 127)  # noqa: PLR0124 - NaN
    sign = (x.to(tl.int32, bitcast=True) >> 24) & 128
    return (code | sign).to(tl.uint8)


@triton.jit
def from_e4m3fn(bits: tl.tensor, dtype: tl.constexpr, native: tl.constexpr) -> Any:
    """The bits, uint8, as numbers of a dtype; each is exact in all of 16 bits and more.

    Args:
        bits: A tile.
        dtype: Of the result.
        native: The target converts them itself.
    """
    if native:
        numbers = bits.to(tl.float8e4nv, bitcast=True).to(dtype)
    else:
        wide = bits.to(tl.uint16)
        half = ((wide & 0x80) << 8) | ((wide & 0x7F) << 7)  # the same number, but for 2**8 between the biases
        exact = half.to(tl.float16, bitcast=True).to(tl.float32) * 256.0
        numbers = tl.where((wide & 0x7F) == 0x7F, float("nan"), exact).to(dtype)
    return numbers


@triton.jit
def scale_of_rows(x: tl.tensor) -> Any:
    """float32 [rows, size] -> [rows]: the largest magnitude over 127.

    0 where that is no normal number, NaN where a row is not finite.
    """
    size = tl.abs(x)
    scale = tl.div_rn(tl.max(size, 1), 127.0)
    scale = tl.where(scale < LEAST_NORMAL, 0.0, scale)
    unbounded = tl.max(tl.where(size < float("inf"), 0, 1), 1)
    return tl.where(unbounded == 1, float("nan"), scale)


@triton.jit
def to_int8(x: tl.tensor, scale: tl.tensor) -> Any:
    """float32 [rows, size] over the scale of each row -> int8; all is 0 where that is 0 or NaN."""
    has = scale > 0.0
    over = tl.div_rn(tl.where(has[:, None], x, 0.0), tl.where(has, scale, 1.0)[:, None])
    return nearest_whole(tl.minimum(tl.maximum(over, -127.0), 127.0)).to(tl.int8)
