"""Rotary position embedding (Su et al. 2021) of vectors."""

from __future__ import annotations

import triton
import triton.language as tl

# fmt: off


@triton.jit
def rotated(
    vectors: tl.tensor, source: tl.tensor, row: tl.tensor, valid: tl.tensor,
    cos: tl.tensor, sin: tl.tensor, begin: tl.tensor,
    rotary_size: tl.constexpr, block_d: tl.constexpr, interleaved: tl.constexpr,
) -> tl.tensor:
    """float32 [rows, block_d], of which the first ``rotary_size`` elements are rotated.

    ``source`` holds the same from ``row`` on; the angles of a row begin at ``begin``.
    """
    place = tl.arange(0, block_d)
    other = place ^ 1 if interleaved else (place + rotary_size // 2) % rotary_size
    turns = valid[:, None] & (place < rotary_size)[None, :]
    swapped = tl.load(source + row[:, None] + other[None, :], mask=turns, other=0.0).to(tl.float32)
    angle = begin[:, None] + place[None, :]
    first, second = tl.load(cos + angle, mask=turns, other=1.0), tl.load(sin + angle, mask=turns, other=0.0)
    return tl.where(turns, vectors * first + swapped * second, vectors)
