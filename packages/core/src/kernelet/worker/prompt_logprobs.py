"""Log-probabilities of prompt tokens, for the positions of one step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from kernelet.contracts.executor import ScheduledRequest
from kernelet.contracts.sampling import TokenLogprobs
from kernelet.sampling.logprobs import rows_logprobs
from kernelet.sampling.rows import wide
from kernelet.worker.batch import HeldRequest

SLICE = 64
"""Rows of logits at once; bounds their memory."""


def prompt_logprobs(
    held: HeldRequest,
    entry: ScheduledRequest,
    states: Tensor,
    tokens: NDArray[np.int64],
    compute_logits: Callable[[Tensor], Tensor],
) -> list[TokenLogprobs]:
    """Entries of the prompt tokens that follow the positions of this step.

    Args:
        held: The request; its parameters ask for prompt log-probabilities.
        entry: What the step computes of it.
        states: [entry.num_tokens, hidden], its own rows.
        tokens: int64 [tokens], its token ids.
        compute_logits: The model's.

    Raises:
        ValueError: if logits are not finite.
    """
    count = held.params.prompt_logprobs or 0
    start = entry.num_computed_tokens
    wanted = min(start + entry.num_tokens, held.num_prompt_tokens - 1) - start
    found: list[TokenLogprobs] = []
    failure: ValueError | None = None
    for low in range(0, wanted, SLICE):
        high = min(low + SLICE, wanted)
        targets = tokens[start + low + 1 : start + high + 1].tolist()
        logits = wide(compute_logits(states[low:high]))
        if not len(logits):  # they are on another rank
            continue
        try:
            found += rows_logprobs(logits, targets, [count] * (high - low))
        except ValueError as error:  # all ranks go on together
            failure = failure or error
    if failure is not None:
        raise failure
    return found
