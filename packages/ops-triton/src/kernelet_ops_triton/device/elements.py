"""Elements of weights: how they are stored, and what they are as numbers."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from kernelet_device_triton.device.elements import from_e4m3fn

# fmt: off

DENSE = tl.constexpr(0)
BYTES = tl.constexpr(1)
"""int8 or uint8."""
NIBBLES = tl.constexpr(2)
"""Two neighbours a byte, the first in its low half; all are stored 8 too large, but for unsigned ones."""
E4M3FN = tl.constexpr(3)
E5M2 = tl.constexpr(4)

NO_ZEROS = tl.constexpr(0)
ZERO_POINTS = tl.constexpr(1)
"""Subtracted from elements."""
OFFSETS = tl.constexpr(2)
"""Added to elements that were multiplied with their scale."""


@triton.jit
def stored(
    weight: tl.tensor, n: tl.tensor, start: tl.tensor,
    outputs: tl.constexpr, inputs: tl.constexpr, element: tl.constexpr, origin: tl.constexpr, block_k: tl.constexpr,
) -> Any:
    """Elements [n, block_k] of rows ``n``, from the column ``start``, as they are kept; 0 where there are none."""
    if element == NIBBLES:
        width: tl.constexpr = (inputs + 1) // 2
        place = start // 2 + tl.arange(0, block_k // 2)
        fits = (n < outputs)[:, None] & (place < width)[None, :]
        pair = tl.load(weight + n.to(tl.int64)[:, None] * width + place[None, :], mask=fits, other=0)
        tile = tl.interleave(pair & 15, pair >> 4).to(tl.int8) - origin
    else:
        place = start + tl.arange(0, block_k)
        fits = (n < outputs)[:, None] & (place < inputs)[None, :]
        tile = tl.load(weight + n.to(tl.int64)[:, None] * inputs + place[None, :], mask=fits, other=0)
    return tile


@triton.jit
def numbers(tile: tl.tensor, element: tl.constexpr, native: tl.constexpr) -> Any:
    """Elements as float32."""
    if element == E4M3FN:
        result = from_e4m3fn(tile, tl.float32, native)
    elif element == E5M2:
        result = tile.to(tl.float8e5, bitcast=True).to(tl.float32)
    else:
        result = tile.to(tl.float32)
    return result


@triton.jit
def of_groups(
    values: tl.tensor, n: tl.tensor, start: tl.tensor, outputs: tl.constexpr, columns: tl.constexpr,
    over_rows: tl.constexpr, group: tl.constexpr, block_n: tl.constexpr, block_k: tl.constexpr,
) -> Any:
    """Values of groups for the elements of a tile, float32 [n, block_k], or [n, 1] where a tile has one column."""
    row = (n // over_rows).to(tl.int64) * columns
    if group >= block_k:
        place = tl.minimum(start // group, columns - 1)
        found = tl.load(values + row + place, mask=n < outputs, other=0.0).to(tl.float32)[:, None]
    else:
        number: tl.constexpr = block_k // group
        place = start // group + tl.arange(0, number)
        fits = (n < outputs)[:, None] & (place < columns)[None, :]
        few = tl.load(values + row[:, None] + place[None, :], mask=fits, other=0.0).to(tl.float32)
        found = tl.reshape(tl.broadcast_to(few[:, :, None], (block_n, number, group)), (block_n, block_k))
    return found
