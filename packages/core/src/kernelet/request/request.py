"""What the frontend hands to the engine, and the engine's own record of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from kernelet.contracts.sampling import SamplerParams
from kernelet.request.status import FinishReason, RequestStatus
from kernelet.request.structured import StructuredRequest

if TYPE_CHECKING:
    from kernelet.contracts.structured import Grammar

NO_ARGUMENTS: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a prompt that is not plain text: the place where media comes in."""

    offset: int
    length: int
    kind: str
    content_hash: bytes
    payload: bytes = b""


class EngineRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One choice of one request, validated; what goes to the engine.

    Attributes:
        request_id: Unique; choice i of a request with n > 1 is ``"<id>/<i>"``.
        prompt_token_ids: Never empty.
        params: For the worker.
        max_tokens: Resolved: at least 0, fits the context together with the prompt.
        stop_token_ids: All ids that end the text (EOS included unless ignored).
        priority: Smaller is served first (policy "priority").
        arrival_time: Seconds, ``time.monotonic`` of the frontend.
        cache_salt: Requests with different salts never share blocks.
        segments: Parts that are not text.
        pooling: ``"last"`` or ``"mean"``: the prompt's states are pooled, and ``max_tokens`` is 0. None: it generates.
        structured: What its text is held to; None: it is free.
        kv_transfer_params: What its client says to KV connectors, checked by them; None: nothing.
    """

    request_id: str
    prompt_token_ids: list[int]
    params: SamplerParams
    max_tokens: int
    stop_token_ids: tuple[int, ...] = ()
    priority: int = 0
    arrival_time: float = 0.0
    cache_salt: str = ""
    segments: tuple[Segment, ...] = ()
    pooling: str | None = None
    structured: StructuredRequest | None = None
    kv_transfer_params: dict[str, Any] | None = None


@dataclass(eq=False)
class Request:
    """The engine's record of a running choice; only the scheduler and the cache manager change it.

    Attributes:
        data: What came in.
        arrival_index: Rising number, breaks ties.
        status: Where it stands.
        token_ids: Prompt and output so far.
        num_computed_tokens: Tokens whose keys and values are in the cache (steps in flight included).
        num_done_tokens: Those of them whose keys and values are there by steps that have ended.
        num_cached_tokens: Prompt tokens taken from the prefix index or a connector when it was first scheduled.
        num_placeholders: Tokens that steps in flight sample and that are not known yet.
        num_told: Tokens that its worker holds, with those that steps in flight sample.
        num_prompt_logprobs: Prompt positions whose log-probabilities the frontend has; none is sent twice.
        epoch: Number of preemptions.
        grammar: Where the text stands that ``data.structured`` asks for; None: it is not made yet, or none is.
        structured: Once it ended and was constrained: ``"enforced"`` or ``"unfinished"``.
        finish_reason: Set when it ended.
        error: Message when it ended with an error.
        first_scheduled_time: Seconds; None: not yet.
        first_token_time: Seconds; None: not yet.
        last_token_time: Seconds; None: it has no token.
    """

    data: EngineRequest
    arrival_index: int
    status: RequestStatus = RequestStatus.WAITING
    token_ids: list[int] = field(default_factory=list)
    num_computed_tokens: int = 0
    num_done_tokens: int = 0
    num_cached_tokens: int = 0
    num_placeholders: int = 0
    num_told: int = 0
    num_prompt_logprobs: int = 0
    epoch: int = 0
    grammar: Grammar | None = None
    structured: str | None = None
    finish_reason: FinishReason | None = None
    error: str | None = None
    first_scheduled_time: float | None = None
    first_token_time: float | None = None
    last_token_time: float | None = None

    def __post_init__(self) -> None:
        if not self.token_ids:
            self.token_ids = list(self.data.prompt_token_ids)

    @property
    def request_id(self) -> str:
        return self.data.request_id

    @property
    def priority(self) -> int:
        return self.data.priority

    @property
    def arrival_time(self) -> float:
        return self.data.arrival_time

    @property
    def extra_args(self) -> Mapping[str, Mapping[str, Any]]:
        return self.data.params.extra_args or NO_ARGUMENTS

    @property
    def num_prompt_tokens(self) -> int:
        return len(self.data.prompt_token_ids)

    @property
    def num_tokens(self) -> int:
        return len(self.token_ids)

    @property
    def num_output_tokens(self) -> int:
        return len(self.token_ids) - len(self.data.prompt_token_ids)

    @property
    def output_token_ids(self) -> list[int]:
        return self.token_ids[len(self.data.prompt_token_ids) :]
