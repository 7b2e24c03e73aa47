"""Log-probabilities of the raw distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from kernelet.contracts.sampling import TokenLogprobs
from kernelet.sampling.rows import best, block_sums, running_sums

LOGPROB_FLOOR = -9999.0
"""Stands for the log-probability of what cannot happen, so that every value can be written as JSON."""


def log_normalizers(rows: Tensor, maxima: Tensor) -> list[float]:
    """Logarithm of the sum of exponentials of each row.

    Args:
        rows: [n, vocab], float32 or float64, finite maxima.
        maxima: [n, 1].
    """
    sums = running_sums(block_sums((rows - maxima).exp_()))[:, -1]
    return [float(top) + math.log(total) for top, total in zip(maxima.flatten().tolist(), sums, strict=True)]


def token_logprobs(row: NDArray[np.floating], normalizer: float, token: int, count: int) -> TokenLogprobs:
    """One position: the token, then the ``count`` best ones (all for -1), of equals the lowest id first.

    Args:
        row: [vocab], raw logits.
        normalizer: See ``log_normalizers``.
        token: The chosen or prompt token.
        count: Number of best tokens.
    """
    size = len(row)
    top = best(row, size if count < 0 else min(count, size)) if count else np.zeros(0, dtype=np.int64)
    value = row[token]
    rank = 1 + int(np.count_nonzero(row > value)) + int(np.count_nonzero(row[:token] == value))
    ids = [token, *top.tolist()]
    logprobs = [floored(float(x) - normalizer) for x in row[ids]]
    return TokenLogprobs(token_ids=ids, logprobs=logprobs, ranks=[rank, *range(1, len(top) + 1)])


def rows_logprobs(rows: Tensor, tokens: Sequence[int], counts: Sequence[int]) -> list[TokenLogprobs]:
    """``token_logprobs`` of several rows.

    Args:
        rows: [n, vocab], float32 or float64.
        tokens: One a row.
        counts: Number of best tokens of each row.

    Raises:
        ValueError: if a row holds NaN or its maximum is infinite.
    """
    maxima = rows.amax(-1, keepdim=True)
    if not all(map(math.isfinite, maxima.flatten().tolist())):
        raise ValueError(NOT_FINITE)
    normalizers = log_normalizers(rows, maxima)
    host = rows.cpu().numpy()
    return [
        token_logprobs(host[index], normalizers[index], token, count)
        for index, (token, count) in enumerate(zip(tokens, counts, strict=True))
    ]


NOT_FINITE = (
    "the model's logits are not finite; the weights are damaged or the dtype is too narrow (try --dtype float32)"
)


def floored(logprob: float) -> float:
    """The value, or ``LOGPROB_FLOOR`` where it is not finite or lower."""
    return max(logprob, LOGPROB_FLOOR) if math.isfinite(logprob) else LOGPROB_FLOOR
