"""Steps: what an engine tells its workers, and what comes back. Part of the contract ``executor``.

A ``StepPlan`` is a difference to what the worker already holds. Up to ``depth`` plans may be in flight; the token
that a request samples in one step is a placeholder in the next, which the worker fills by itself.
"""

from __future__ import annotations

import msgspec

from kernelet.contracts.sampling import SamplerParams, TokenLogprobs


class NewRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that the worker does not hold: new, or resumed after preemption.

    Attributes:
        token_ids: Prompt, then the tokens generated before a preemption.
        num_prompt_tokens: How many of them are the prompt.
        num_computed_tokens: How many are in the cache already (prefix hit).
        block_ids: Block ids of each cache group, including those for this step.
        epoch: Rises with each preemption; results of an old epoch are dropped.
        adapter_slot: 0 for none.
        pooling: ``"last"`` or ``"mean"``: nothing is generated, the prompt's states are pooled. None: it generates.
            Since executor 1.2.
    """

    request_id: str
    token_ids: list[int]
    num_prompt_tokens: int
    num_computed_tokens: int
    block_ids: tuple[list[int], ...]
    params: SamplerParams
    epoch: int = 0
    adapter_slot: int = 0
    pooling: str | None = None


class ScheduledRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What one request computes in this step.

    Attributes:
        num_tokens: Tokens to compute, from ``num_computed_tokens`` on.
        num_computed_tokens: Tokens computed before this step.
        new_block_ids: Block ids appended to each group's list (empty for a request of ``StepPlan.new``).
        sample: Whether its last token's logits are sampled (False inside a prompt).
        drafts: Draft tokens to verify; part of ``num_tokens``.
        epoch: As in ``NewRequest``.
    """

    request_id: str
    num_tokens: int
    num_computed_tokens: int
    new_block_ids: tuple[list[int], ...] = ()
    sample: bool = True
    drafts: tuple[int, ...] = ()
    epoch: int = 0


class BlockCopy(msgspec.Struct, frozen=True):
    """Copies a block inside a group before the step computes."""

    group: int
    source: int
    destination: int


class StepPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One step. It may be empty (it then only releases requests or moves blocks).

    A worker handles ``finished`` and ``preempted`` first, then ``new``, then ``copies``, then computes ``scheduled``.
    Steps take effect in order: a block that one step gives up may be written by another request in the next.

    Attributes:
        step: Number of the step, rising by one.
        new: Requests that the worker must take up; each is in ``scheduled`` too.
        scheduled: What is computed, in the order of the batch.
        finished: Requests that the worker forgets.
        preempted: Requests that the worker forgets and that will come back in ``new``, of this plan or of a later one.
        copies: Blocks to copy first.
        extensions: Bytes for plugins, by plugin name.
    """

    step: int
    new: tuple[NewRequest, ...] = ()
    scheduled: tuple[ScheduledRequest, ...] = ()
    finished: tuple[str, ...] = ()
    preempted: tuple[str, ...] = ()
    copies: tuple[BlockCopy, ...] = ()
    extensions: dict[str, bytes] = {}


class SamplePlan(msgspec.Struct, frozen=True, kw_only=True):
    """Second half of a step: what sampling needs that was made while the forward pass ran.

    Attributes:
        step: Number of the step.
        mask_rows: int32 bit rows [ceil(vocab / 32)] as bytes, by request id; a set bit allows the token.
    """

    step: int
    mask_rows: dict[str, bytes] = {}


class SampledRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one scheduled request.

    Attributes:
        token_ids: Tokens sampled; empty inside a prompt.
        logprobs: One entry a sampled token, where asked for.
        prompt_logprobs: Entries of the prompt positions computed in this step (p + 1 given p), where asked for.
        error: Why the request failed; it ends with this error.
        epoch: Copied from the plan.
        pooled: float32 [hidden] as bytes in the host's order, in the step that computes the prompt's last token of a
            request with ``NewRequest.pooling``: the state of that token after the last norm, or the mean over all
            tokens, whose sums are in float64 and in order of positions, so that no cut of the prompt changes a bit.
            Since executor 1.2.
        error_parameter: With ``error``: the field of the request that it failed by, which is the client's to change;
            None: by none. Since executor 1.4.
    """

    request_id: str
    token_ids: list[int]
    epoch: int = 0
    logprobs: list[TokenLogprobs] | None = None
    prompt_logprobs: list[TokenLogprobs] | None = None
    error: str | None = None
    pooled: bytes | None = None
    error_parameter: str | None = None


class StepResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came out of a step: requests from rank 0, extensions of every rank by plugin name."""

    step: int
    requests: tuple[SampledRequest, ...] = ()
    extensions: dict[str, list[bytes]] = {}
