"""A softmax whose keys come in stretches: the largest score, the sum of weights, and the sum of weighted values.

Scores are logarithms to the base 2. Stretches are joined from the first to the last, so that a row has the same bits
whoever joins them; one in which a row sees nothing changes no bit.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def above(largest: tl.tensor) -> Any:
    """What scores are subtracted from: where nothing was seen yet, -inf less itself would be NaN."""
    return tl.where(largest == float("-inf"), 0.0, largest)


@triton.jit
def capped(scores: tl.tensor, cap: tl.tensor) -> Any:
    """``cap * tanh(scores / cap)``."""
    return cap * (2.0 / (1.0 + tl.exp2(scores * (-2.0 * LOG2_E / cap))) - 1.0)


@triton.jit
def join(
    largest: tl.tensor,
    total: tl.tensor,
    summed: tl.tensor,
    more_largest: tl.tensor,
    more_total: tl.tensor,
    more_summed: tl.tensor,
) -> Any:
    """Two stretches as one."""
    both = tl.maximum(largest, more_largest)
    base = above(both)
    first, second = tl.exp2(largest - base), tl.exp2(more_largest - base)
    total = total * first + more_total * second
    return both, total, summed * first[:, None] + more_summed * second[:, None]


@triton.jit
def finish(
    largest: tl.tensor,
    total: tl.tensor,
    summed: tl.tensor,
    sink: tl.tensor,
    value_scale: tl.tensor,
    has_sinks: tl.constexpr,
) -> Any:
    """The weighted mean of values; a sink has a weight and no value."""
    if has_sinks:
        both = tl.maximum(largest, sink)
        shrunk = tl.exp2(largest - both)
        total = total * shrunk + tl.exp2(sink - both)
        summed = summed * shrunk[:, None]
    return summed * (value_scale / total)[:, None]
