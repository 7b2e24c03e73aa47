"""A prompt's states as one vector: the last token's, or the mean over all tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernelet.contracts.executor import ScheduledRequest
from kernelet.contracts.pooling import POOLINGS
from kernelet.worker.batch import HeldRequest

SLICE = 64
"""Rows that are summed at once; bounds the memory of their running sums."""


def pool(
    work: Sequence[tuple[HeldRequest, ScheduledRequest]], query_start_loc: NDArray[np.int64], states: Tensor
) -> dict[str, bytes]:
    """Takes what a step computed of the requests that are pooled.

    Args:
        work: What was computed, in order; what fails of it gets an error.
        query_start_loc: int64 [requests + 1], where the rows of each begin.
        states: [tokens, hidden] after the last norm.

    Returns:
        float32 [hidden] as bytes, by id, of requests whose prompt is complete.
    """
    found: dict[str, bytes] = {}
    for index, (held, entry) in enumerate(work):
        if held.pooling is None or held.error is not None:
            continue
        try:
            vector = _pooled(held, entry, states[query_start_loc[index] : query_start_loc[index + 1]])
        except ValueError as error:
            held.error = str(error)
            continue
        if vector is not None:
            found[held.request_id] = vector.tobytes()
    return found


def _pooled(held: HeldRequest, entry: ScheduledRequest, rows: Tensor) -> NDArray[np.float32] | None:
    """The vector; None: the prompt is not complete.

    Raises:
        ValueError: there is no such pooling, the start is missing, or the vector is not finite.
    """
    is_complete = entry.num_computed_tokens + entry.num_tokens == held.num_prompt_tokens
    if held.pooling == "mean":
        _add(held, entry, rows)
        mean = None if held.total is None or not is_complete else held.total / held.num_prompt_tokens
    elif held.pooling == "last":
        mean = on_host(rows[-1]) if is_complete else None
    else:
        raise ValueError(f"there is no pooling {held.pooling!r}: the worker has {', '.join(POOLINGS)}")
    if mean is None:
        return None
    with np.errstate(over="ignore"):
        vector: NDArray[np.float32] = mean.astype(np.float32)
    if not np.isfinite(vector).all():
        raise ValueError("the model's states are not finite: the checkpoint may be damaged, or the dtype too narrow")
    return vector


def _add(held: HeldRequest, entry: ScheduledRequest, rows: Tensor) -> None:
    """Sums one row after the other, so that it does not matter where a step ends.

    Raises:
        ValueError: rows before these were never seen, e.g. because they were taken from the prefix cache.
    """
    if (held.total is None) != (entry.num_computed_tokens == 0):
        raise ValueError(f"the mean over all tokens needs them in order, but the plan goes on at {entry}")
    for part in rows.split(SLICE):
        wide = on_host(part)
        before = wide[:0] if held.total is None else held.total[None]
        held.total = np.add.accumulate(np.concatenate([before, wide]), axis=0)[-1].copy()


def on_host(rows: Tensor) -> NDArray[np.float64]:
    """float64, which has every number of every dtype that models compute in."""
    found: NDArray[np.float64] = rows.to("cpu", torch.float64).numpy()
    return found
