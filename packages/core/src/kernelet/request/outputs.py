"""What users get back; shaped as in vLLM so that scripts carry over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from kernelet.contracts.sampling import TokenLogprobs
from kernelet.request.message import ParsedMessage


class EngineOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine tells the frontend of one choice after a step.

    Attributes:
        token_ids: New tokens, a stop token included.
        logprobs: One entry a new token, where asked for.
        prompt_logprobs: Entries of the prompt's positions 1, 2, ..., in order, each once, as chunks are computed.
        finish_reason: A ``FinishReason`` value once it ended.
        stop_token_id: The token that ended it, where one did.
        error: Message where it failed.
        error_parameter: The field of the request that it failed by, with which the message begins; None: by none.
        try_again: It failed because others are being worked on: later it may work.
        pooled: float32 [hidden] as bytes, with the end of a request that is pooled.
        structured: ``"enforced"`` or ``"unfinished"``, with the end of a request that was held to a constraint.
        kv_transfer_params: What KV connectors say to the client, with the end of a request.
    """

    request_id: str
    token_ids: list[int]
    logprobs: list[TokenLogprobs] | None = None
    prompt_logprobs: list[TokenLogprobs] | None = None
    finish_reason: str | None = None
    stop_token_id: int | None = None
    error: str | None = None
    error_parameter: str | None = None
    try_again: bool = False
    num_cached_tokens: int = 0
    pooled: bytes | None = None
    structured: str | None = None
    kv_transfer_params: dict[str, Any] | None = None


@dataclass(kw_only=True)
class Logprob:
    """One token's log-probability; ``rank`` is 1-based; ``bytes`` are the token's real bytes."""

    logprob: float
    rank: int
    decoded_token: str
    bytes: bytes


@dataclass(kw_only=True)
class CompletionOutput:
    """One choice.

    Attributes:
        logprobs: One dictionary a token: token id to ``Logprob``.
        finish_reason: None while it runs.
        stop_reason: The stop string or token id that ended it.
        message: The text, parsed: reasoning, content, calls. None: no parser runs.
        structured: What became of the request's constraint: ``"enforced"``, ``"validated"`` or ``"violated"`` where it
            could only be checked, ``"unfinished"`` where the text ended before it was met. None: it runs, or is free.
    """

    index: int
    text: str
    token_ids: list[int]
    logprobs: list[dict[int, Logprob]] | None = None
    cumulative_logprob: float | None = None
    finish_reason: str | None = None
    stop_reason: str | int | None = None
    message: ParsedMessage | None = None
    structured: str | None = None


@dataclass(kw_only=True)
class RequestOutput:
    """A request with all its choices.

    Attributes:
        prompt_logprobs: One entry a prompt token; the first is None.
        num_cached_tokens: Prompt tokens taken from the prefix cache.
        kv_transfer_params: What KV connectors say of a request that ended, e.g. where its keys and values can be had.
    """

    request_id: str
    prompt: str | None
    prompt_token_ids: list[int]
    outputs: list[CompletionOutput] = field(default_factory=list)
    prompt_logprobs: list[dict[int, Logprob] | None] | None = None
    finished: bool = False
    num_cached_tokens: int = 0
    kv_transfer_params: dict[str, Any] | None = None
