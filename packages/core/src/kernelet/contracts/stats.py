"""What stat loggers receive: one snapshot a step, one record a finished request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import msgspec

from kernelet.contracts.offer import Offer, Settings


class StepStats(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the engine. Counters count this step only; gauges are as of its end.

    Attributes:
        step: Number of the step.
        num_running: Requests that are scheduled or preemptible.
        num_waiting: Requests that wait.
        num_prefill_tokens: Prompt tokens computed (recomputed ones included).
        num_decode_tokens: Tokens sampled.
        num_prefill_requests: Requests that computed prompt tokens.
        num_decode_requests: Requests that decoded.
        num_chunked: Prefills that were cut by the token budget.
        num_preempted: Requests preempted.
        prefix_queries: Prompt tokens looked up in the prefix index.
        prefix_hits: Prompt tokens found there.
        cache_usage: Share of blocks in use, 0 to 1, of the fullest group.
        seconds: Duration of the step.
    """

    step: int
    num_running: int
    num_waiting: int
    num_prefill_tokens: int = 0
    num_decode_tokens: int = 0
    num_prefill_requests: int = 0
    num_decode_requests: int = 0
    num_chunked: int = 0
    num_preempted: int = 0
    prefix_queries: int = 0
    prefix_hits: int = 0
    cache_usage: float = 0.0
    seconds: float = 0.0


class FinishedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One finished choice. Times in seconds from its arrival.

    Attributes:
        finish_reason: ``"stop"``, ``"length"``, ``"abort"`` or ``"error"``.
        queue_s: Until it was first scheduled.
        first_token_s: Until its first token; None: there was none.
        total_s: Until it ended.
    """

    request_id: str
    finish_reason: str
    num_prompt_tokens: int
    num_output_tokens: int
    num_cached_tokens: int
    num_preemptions: int
    queue_s: float
    first_token_s: float | None
    total_s: float


@dataclass(frozen=True, kw_only=True)
class StatLoggerOffer(Offer):
    """A stat logger. ``target`` is a ``StatLogger`` class. All active ones run; one that raises is switched off."""


class StatLogger(ABC):
    """Receives statistics in one designated frontend."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @abstractmethod
    def record(self, stats: StepStats) -> None:
        """After each step."""

    @abstractmethod
    def record_finished(self, request: FinishedRequest) -> None:
        """After each finished request."""

    def log(self) -> None:
        """About every ten seconds, and once before ``close``."""

    def close(self) -> None:
        """The engine stops."""
