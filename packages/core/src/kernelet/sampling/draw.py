"""Drawing a token from a row: temperature, min_p, top_k, top_p, then the inverse of the cumulative distribution.

Order and ties: probabilities after temperature; min_p against the best one; of the rest the top_k best; of their
renormalised distribution the smallest set that reaches top_p. Of equal tokens the lowest ids are kept. What is left is
drawn from in the order of ids.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernelet.sampling.rows import SUM_BLOCK, block_sums, largest, running_sums

SMALL = 1e-3
"""Shares of the distribution are rounded; a bound that must not cut anything is taken this much lower."""


class Filters(Protocol):
    """Of a request's parameters."""

    @property
    def top_k(self) -> int: ...
    @property
    def top_p(self) -> float: ...
    @property
    def min_p(self) -> float: ...


def is_filtered(params: Filters, vocab_size: int) -> bool:
    """Whether top_k, top_p or min_p may drop tokens."""
    return 0 < params.top_k < vocab_size or params.top_p < 1.0 or params.min_p > 0.0


def scale_rows(rows: Tensor, maxima: Tensor, temperatures: Sequence[float]) -> Tensor:
    """``(rows - max) / temperature``, in place; 0 is each row's best token.

    Args:
        rows: [n, vocab], float32 or float64.
        maxima: [n, 1], the largest element of each row.
        temperatures: One a row, positive.
    """
    scale = torch.tensor(temperatures, dtype=rows.dtype, device=rows.device)
    return rows.sub_(maxima).div_(scale.unsqueeze(1).clamp_min_(torch.finfo(rows.dtype).tiny))


def draw_from_all(scaled: Tensor, uniforms: Sequence[float]) -> list[int]:
    """Draws one token a row from all of them.

    Args:
        scaled: [n, vocab] from ``scale_rows``; overwritten.
        uniforms: One number in [0, 1) a row.
    """
    weights = scaled.exp_()
    sums = running_sums(block_sums(weights))
    tokens = []
    for row, (running, number) in enumerate(zip(sums, uniforms, strict=True)):
        target = number * running[-1]
        block = locate(running, target)
        inside = weights[row, block * SUM_BLOCK : (block + 1) * SUM_BLOCK].cpu().numpy()
        before = running[block - 1] if block else 0.0
        tokens.append(block * SUM_BLOCK + locate(np.cumsum(inside, dtype=np.float64), target - before))
    return tokens


def draw_filtered(scaled: NDArray[np.floating], params: Filters, number: float) -> int:
    """Draws a token from those that top_k, top_p and min_p leave.

    Args:
        scaled: [vocab], a row of ``scale_rows``.
        params: The request's parameters.
        number: In [0, 1).
    """
    ids = kept_tokens(scaled, params)
    running = np.cumsum(np.exp(scaled[ids].astype(np.float64)))
    return int(ids[locate(running, number * running[-1])])


def kept_tokens(scaled: NDArray[np.floating], params: Filters) -> NDArray[np.int64]:
    """Tokens that top_k, top_p and min_p leave, in ascending order."""
    size = len(scaled)
    total = None
    if 0 < params.top_k < size:
        ids = largest(scaled, params.top_k)
        ids = ids[scaled[ids] >= _log(params.min_p)]
    elif params.min_p > 0.0:
        ids = np.flatnonzero(scaled >= _log(params.min_p))
    else:
        # all tokens below this together weigh less than 1 - top_p of the total
        total = row_total(scaled)
        ids = np.flatnonzero(scaled >= _log((1.0 - params.top_p) * (1.0 - SMALL) * total / size))
    if params.top_p < 1.0:
        values = scaled[ids]
        running = np.cumsum(np.exp(-np.sort(-values).astype(np.float64)))
        share = params.top_p * (running[-1] if total is None else total)
        count = int(np.searchsorted(running, share, side="left")) + 1
        if count < len(ids):
            ids = ids[largest(values, count)]
    return ids


def row_total(scaled: NDArray[np.floating]) -> float:
    """Sum of a row's weights, in a fixed order."""
    weights = torch.from_numpy(scaled).exp()
    return float(running_sums(block_sums(weights.unsqueeze(0)))[0, -1])


def locate(running: NDArray[np.float64], target: float) -> int:
    """First index whose running sum exceeds the target; rounding never leads past the last element with weight."""
    index = int(np.searchsorted(running, target, side="right"))
    if index >= len(running):
        index = int(np.searchsorted(running, running[-1], side="left"))
    return index


def _log(share: float) -> float:
    return math.log(share) if share > 0.0 else -math.inf
