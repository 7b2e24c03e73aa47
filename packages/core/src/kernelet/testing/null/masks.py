"""Mask rows on the null platform: the token that a request would have said, or the first after it that is allowed.

A later step that is in flight already has computed a placeholder where the token is now another: what it wrote to the
cache is written again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from kernelet.contracts.executor import SampledRequest, SamplePlan, ScheduledRequest, StepPlan, StepResult
from kernelet.contracts.sampling import SamplerParams
from kernelet.testing.null.batch import Batch, HeldRequest
from kernelet.testing.null.store import GroupStore
from kernelet.testing.null.tokens import digests, logprobs

NOTHING = "no token may be chosen"


def masked(
    result: StepResult,
    step: StepPlan,
    plan: SamplePlan,
    batch: Batch,
    stores: Sequence[GroupStore],
    next_token: Callable[[HeldRequest], int],
    vocab_size: int,
) -> StepResult:
    """A step's result under its mask rows."""
    entries = {entry.request_id: entry for entry in step.scheduled}

    def one(sampled: SampledRequest) -> SampledRequest:
        row = plan.mask_rows.get(sampled.request_id)
        held = batch.held.get(sampled.request_id)
        if row is None or not sampled.token_ids or held is None or held.data.epoch != sampled.epoch:
            return sampled
        end = _end(entries[sampled.request_id])
        before = HeldRequest(
            data=held.data, token_ids=held.token_ids[:end], tables=held.tables, num_computed=held.num_computed
        )
        token = first_allowed(next_token(before), row, held.data.params, end - held.data.num_prompt_tokens, vocab_size)
        if token is None:
            return msgspec.structs.replace(sampled, token_ids=[], error=NOTHING)
        _replace(held, end, token, stores)
        best = held.data.params.logprobs
        scores = None if best is None else [logprobs(token, best, vocab_size)]
        return msgspec.structs.replace(sampled, token_ids=[token], logprobs=scores)

    return msgspec.structs.replace(result, requests=tuple(one(sampled) for sampled in result.requests))


def first_allowed(first: int, row: bytes, params: SamplerParams, num_outputs: int, vocab_size: int) -> int | None:
    """The first token from ``first`` on that the row and the parameters allow; None: there is none.

    A row that leaves nothing but suppressed tokens wins over ``min_tokens``.
    """
    bits = np.unpackbits(np.frombuffer(row, dtype=np.uint8), bitorder="little")[:vocab_size].astype(bool)
    if params.allowed_token_ids is not None:
        kept = np.zeros(vocab_size, dtype=bool)
        kept[list(params.allowed_token_ids)] = True
        bits &= kept
    if num_outputs < params.min_tokens:
        others = bits.copy()
        others[list(params.suppressed_token_ids)] = False
        bits = others if others.any() else bits
    found = np.flatnonzero(np.roll(bits, -first))
    return (first + int(found[0])) % vocab_size if found.size else None


def _end(entry: ScheduledRequest) -> int:
    return entry.num_computed_tokens + entry.num_tokens


def _replace(held: HeldRequest, place: int, token: int, stores: Sequence[GroupStore]) -> None:
    if held.token_ids[place] == token:
        return
    held.token_ids[place] = token
    held.digests[place:] = digests(held.token_ids[place:], held.digests[place - 1])
    for store, table in zip(stores, held.tables, strict=True):
        if held.num_computed > place:
            store.write(table, place, held.digests[place : held.num_computed])
