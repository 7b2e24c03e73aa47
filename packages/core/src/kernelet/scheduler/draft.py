"""A step while it is put together, and what is remembered of it until its result comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernelet.contracts.executor import NewRequest, ScheduledRequest, StepPlan
from kernelet.contracts.stats import StepStats
from kernelet.request.request import Request
from kernelet.scheduler.progress import decodes, samples, tokens_to_compute
from kernelet.scheduler.token_times import TokenTimes


@dataclass
class StepCounters:
    """The counters of ``StepStats`` that are known when a step is scheduled."""

    num_prefill_tokens: int = 0
    num_prefill_requests: int = 0
    num_decode_requests: int = 0
    num_chunked: int = 0
    num_preempted: int = 0
    prefix_queries: int = 0
    prefix_hits: int = 0


@dataclass
class StepDraft:
    """Collects one step.

    Attributes:
        scheduled: Each request with what the plan says of it.
        spoiled: Requests that workers forget because what they computed of them last is worth nothing.
        told_anew: Requests that workers forget and take up in the same step, since they got tokens that nobody sampled.
    """

    step: int
    spoiled: list[str] = field(default_factory=list)
    new: list[NewRequest] = field(default_factory=list)
    scheduled: list[tuple[Request, ScheduledRequest]] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)
    told_anew: list[str] = field(default_factory=list)
    counters: StepCounters = field(default_factory=StepCounters)

    def schedule(self, request: Request, num_tokens: int, new_block_ids: tuple[list[int], ...] = ()) -> None:
        """Adds a request and counts the tokens as computed, and its sample as a placeholder."""
        sample = samples(request, num_tokens)
        self._count(request, num_tokens)
        entry = ScheduledRequest(
            request_id=request.request_id,
            num_tokens=num_tokens,
            num_computed_tokens=request.num_computed_tokens,
            new_block_ids=new_block_ids,
            sample=sample,
            epoch=request.epoch,
        )
        self.scheduled.append((request, entry))
        request.num_computed_tokens += num_tokens
        request.num_placeholders += sample
        request.num_told += sample

    def introduce(self, request: Request, block_ids: tuple[list[int], ...]) -> None:
        """Adds a request that the worker does not hold; ``schedule`` must follow."""
        self.new.append(
            NewRequest(
                request_id=request.request_id,
                token_ids=list(request.token_ids),
                num_prompt_tokens=request.num_prompt_tokens,
                num_computed_tokens=request.num_computed_tokens,
                block_ids=block_ids,
                params=request.data.params,
                epoch=request.epoch,
                pooling=request.data.pooling,
            )
        )
        request.num_told = request.num_tokens

    def tell_anew(self, request: Request, block_ids: tuple[list[int], ...]) -> None:
        """Hands the worker a request that it holds once more, with tokens that it lacks; ``schedule`` must follow."""
        self.told_anew.append(request.request_id)
        self.introduce(request, block_ids)

    def says_something(self, finished: list[str]) -> bool:
        """Whether there is something to do or to tell."""
        return bool(self.scheduled or self.preempted or self.spoiled or finished)

    def plan(self, finished: list[str], extensions: dict[str, bytes] | None = None) -> StepPlan:
        """The step."""
        return StepPlan(
            step=self.step,
            new=tuple(self.new),
            scheduled=tuple(entry for _, entry in self.scheduled),
            finished=tuple(finished),
            preempted=(*self.spoiled, *self.preempted, *self.told_anew),
            extensions=extensions or {},
        )

    def _count(self, request: Request, num_tokens: int) -> None:
        if decodes(request, num_tokens) or request.request_id in self.told_anew:
            self.counters.num_decode_requests += 1
            return
        self.counters.num_prefill_requests += 1
        self.counters.num_prefill_tokens += num_tokens
        self.counters.num_chunked += num_tokens < tokens_to_compute(request)


@dataclass(frozen=True)
class StepInFlight:
    """A step that was sent and whose result has not come."""

    step: int
    scheduled: list[tuple[Request, ScheduledRequest]]
    counters: StepCounters

    def stats(
        self,
        *,
        num_running: int,
        num_waiting: int,
        times: TokenTimes,
        usage: float,
        seconds: float,
        remote: Mapping[str, Any],
    ) -> StepStats:
        """The record of the step, with what is known at its end."""
        return StepStats(
            step=self.step,
            num_running=num_running,
            num_waiting=num_waiting,
            num_decode_tokens=times.num_tokens,
            num_forced_tokens=times.num_forced,
            num_done_prompt_tokens=times.num_prompt_tokens,
            first_token_s=tuple(times.first),
            inter_token_s=tuple(times.between),
            cache_usage=usage,
            seconds=seconds,
            **vars(self.counters),
            **remote,
        )
