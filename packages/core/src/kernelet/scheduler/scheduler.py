"""The scheduler: one token budget for prompts and decoding, running requests before waiting ones."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from kernelet.cache.manager import CacheManager
from kernelet.config import SchedulerConfig
from kernelet.contracts.executor import SchedulingPolicy, StepPlan, StepResult
from kernelet.contracts.kv import LATER
from kernelet.contracts.stats import FinishedRequest, StepStats
from kernelet.contracts.structured import Grammar
from kernelet.errors import KerneletError, ParameterError, PluginError, RequestFailedError, SandboxBusyError
from kernelet.request.outputs import EngineOutput
from kernelet.request.request import EngineRequest, Request
from kernelet.request.status import FinishReason, RequestStatus
from kernelet.request.structured import UNFINISHED
from kernelet.scheduler.admission import Admission
from kernelet.scheduler.budget import TokenBudget
from kernelet.scheduler.draft import StepDraft, StepInFlight
from kernelet.scheduler.kv.remote import KVSetup, RemoteKV
from kernelet.scheduler.preemption import make_room, too_small
from kernelet.scheduler.progress import hit_limit, tokens_to_compute
from kernelet.scheduler.records import finished_record
from kernelet.scheduler.requests import RequestSet
from kernelet.scheduler.results import apply_result, foretold
from kernelet.scheduler.structured import OnlyToken, state_of
from kernelet.scheduler.token_times import TokenTimes
from kernelet.scheduler.validation import check_request


class Scheduler:
    """Turns requests into steps and results into outputs. Knows no device and no model.

    ``num_computed_tokens`` of a request counts steps in flight. A preempted request gives up its blocks and, as far as
    the prefix index has lost them, computes them again under the next epoch. What comes back of an old epoch, or of a
    request that has ended, is dropped.
    """

    def __init__(
        self,
        config: SchedulerConfig,
        cache: CacheManager,
        *,
        max_model_len: int,
        policy: SchedulingPolicy,
        clock: Callable[[], float] = time.monotonic,
        kv: KVSetup | None = None,
        only: OnlyToken | None = None,
    ) -> None:
        """Starts empty.

        Args:
            config: Limits of a step.
            cache: The blocks; nobody else changes them.
            max_model_len: Largest number of tokens of a request.
            policy: Order of requests.
            clock: The clock of ``EngineRequest.arrival_time``.
            kv: KV connectors; None: there are none.
            only: Finds tokens that a constraint leaves no choice about; None: all are sampled.
        """
        self._config = config
        self._cache = cache
        self._max_model_len = max_model_len
        self._clock = clock
        self._only = only
        self._requests = RequestSet(policy)
        self._in_flight: deque[StepInFlight] = deque()
        self._released: list[str] = []
        self._failed: list[EngineOutput] = []
        self._finished: list[FinishedRequest] = []
        self._next_step = 0
        self._remote: RemoteKV | None = None
        if kv is not None:
            self.connect(kv)

    def add(self, data: EngineRequest) -> None:
        """Queues a request; one that is held to a constraint keeps its place, and starts once ``constrain`` is called.

        Raises:
            RequestError: it cannot be served, or its id is in use.
        """
        check_request(data, self._max_model_len)
        request = self._requests.add(data)
        if self._remote is not None:
            try:
                self._remote.add(request)
            except BaseException:
                self._requests.end(request)
                raise

    def abort(self, request_ids: Iterable[str], reason: FinishReason) -> list[EngineOutput]:
        """Ends requests; others are skipped. Returns their last outputs."""
        found = [request for request_id in request_ids if (request := self._requests.get(request_id))]
        return [self._end(request, reason) for request in dict.fromkeys(found)]

    def constrain(self, request_id: str, grammar: Grammar) -> None:
        """A request has its grammar."""
        request = self._requests.get(request_id)
        if request is None or request.grammar is not None:
            return
        try:
            request.grammar = grammar
            if not request.data.stop_token_ids and grammar.must_end():
                request.structured = state_of(grammar)
                self._failed.append(self._end(request, FinishReason.STOP))
            else:
                self._requests.compiled(request)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this request's alone
            self._fail(request, error)

    def fail(self, request_id: str, error: Exception) -> None:
        """Ends a request with an error, which ``take_failed`` has."""
        request = self._requests.get(request_id)
        if request is not None:
            self._fail(request, error)

    def constrained(self) -> dict[Request, int | None]:
        """Requests of the oldest step in flight that sample a token under a constraint: which, where that is known."""
        return {
            request: foretold(request, entry)
            for request, entry in (self._in_flight[0].scheduled if self._in_flight else ())
            if entry.sample
            and request.grammar is not None
            and request.status is RequestStatus.RUNNING
            and request.epoch == entry.epoch
        }

    def fail_all(self, message: str) -> list[EngineOutput]:
        """Ends every request with an error and forgets the steps in flight; KV connectors hear only of their own."""
        if self._remote is not None:
            self._remote.abandon()
        self._in_flight.clear()
        self._released.clear()
        return [self._end(request, FinishReason.ERROR, message) for request in self._requests]

    def connect(self, kv: KVSetup) -> None:
        """Takes KV connectors, while there is no request."""
        assert not len(self._requests), "there are requests of which KV connectors know nothing"
        self._remote = RemoteKV(kv, self._requests, self._cache, self._fail, self._clock)

    def reset_connectors(self) -> None:
        """KV connectors forget what they keep for this engine.

        Raises:
            PluginError: none runs, or one of them could not.
        """
        if self._remote is None:
            raise PluginError("no KV connector runs (--kv-connector): there is nothing else to reset")
        self._remote.reset_cache()

    def close(self) -> None:
        """Ends KV connectors; nothing is scheduled any more."""
        remote, self._remote = self._remote, None
        if remote is not None:
            remote.shutdown()

    def has_work(self) -> bool:
        """Whether there are requests, ended ones that workers have not been told of, or transfers."""
        return len(self._requests) > 0 or bool(self._released) or (self._remote is not None and self._remote.busy)

    def can_schedule(self) -> bool:
        """Whether there is work that does not wait for a grammar."""
        waits = self._remote is not None and self._remote.busy
        return len(self._requests) > len(self._requests.compiling) or bool(self._released or self._failed) or waits

    def take_failed(self) -> list[EngineOutput]:
        """Outputs of requests that failed while they were scheduled, since the last call."""
        failed, self._failed = self._failed, []
        return failed

    def take_finished(self) -> list[FinishedRequest]:
        """Records of requests that ended, since the last call."""
        finished, self._finished = self._finished, []
        return finished

    # --- a step ----------------------------------------------------------------------------------

    def schedule(self) -> StepPlan | None:
        """Puts the next step together; None: nothing can be done before a result comes."""
        if self._remote is not None:
            self._remote.poll()
        draft = StepDraft(self._next_step, self._remote.take_spoiled() if self._remote is not None else [])
        budget = TokenBudget(self._config.max_num_batched_tokens)
        for request in self._requests.running:
            # a request further up may have preempted this one
            if budget.left and request.status is RequestStatus.RUNNING:
                try:
                    self._continue(request, budget, draft)
                except Exception as error:  # noqa: BLE001 - whatever it is, it is this request's alone
                    self._fail(request, error)
        if not draft.preempted:
            self._admit(budget, draft)
        wanted = self._remote is not None and self._remote.wants_step(in_flight=bool(self._in_flight))
        if not (wanted or draft.says_something(self._released)):
            return None
        released, self._released = self._released, []
        extensions = {} if self._remote is None else self._remote.extensions(draft.step, draft.scheduled)
        plan = draft.plan(released, extensions)
        self._next_step += 1
        self._in_flight.append(StepInFlight(plan.step, draft.scheduled, draft.counters))
        return plan

    def update(self, result: StepResult, started: float) -> tuple[list[EngineOutput], StepStats]:
        """Takes the result of the oldest step in flight.

        Args:
            result: What the executor returned.
            started: When the step was scheduled.

        Raises:
            RuntimeError: it is the result of another step.
        """
        step = self._in_flight.popleft()
        if result.step != step.step:
            raise RuntimeError(f"the executor returned step {result.step} instead of {step.step}")
        if self._remote is not None:
            self._remote.receive(result.step, result.extensions)
        now = self._clock()
        outputs, times = [], TokenTimes(now)
        sampled = {entry.request_id: entry for entry in result.requests}
        for request, entry in step.scheduled:
            if request.status is not RequestStatus.RUNNING or request.epoch != entry.epoch:
                continue
            try:
                progress = apply_result(
                    request, entry, sampled.get(request.request_id), self._max_model_len, self._only
                )
                request.num_done_tokens = progress.num_stored
                self._cache.store(request, progress.num_stored)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is this request's alone
                outputs.append(self._end_by(request, error))
                continue
            num_tokens, ended = len(progress.output.token_ids), progress.ending is not None
            times.note(request, num_tokens, ended=ended, num_forced=progress.num_forced)
            output = progress.output
            if progress.ending is not None:
                output = _with_end(output, self._end(request, progress.ending.reason))
            if progress.worth_telling:
                outputs.append(output)
        stats = step.stats(
            num_running=len(self._requests.running),
            num_waiting=self._requests.num_waiting,
            times=times,
            usage=self._cache.capacity.usage,
            seconds=now - started,
            remote={} if self._remote is None else self._remote.stats(),
        )
        return outputs, stats

    # --- inside ----------------------------------------------------------------------------------

    def _continue(self, request: Request, budget: TokenBudget, draft: StepDraft) -> None:
        """Schedules a running request, taking blocks from the worst ones if there are too few."""
        count = budget.offer(tokens_to_compute(request))
        if count <= 0:
            return  # all that it may generate is in flight
        added = make_room(
            request, request.num_computed_tokens + count, self._requests, self._cache, draft, self._remote
        )
        if added is None:
            if request.status is RequestStatus.RUNNING and not self._blocks_will_come():
                self._fail_too_small(request)
            return
        budget.take(count)
        if request.num_told < request.num_tokens:
            draft.tell_anew(request, self._cache.block_ids(request))
            added = ()
        draft.schedule(request, count, added)

    def _admit(self, budget: TokenBudget, draft: StepDraft) -> None:
        """Starts waiting requests in order until one does not fit."""
        waiting, running = self._requests.waiting, self._requests.running
        if not waiting:
            return
        holders = () if self._remote is None else self._remote.holders
        admission = Admission(self._cache.capacity, running, holders)
        while waiting and budget.left and len(running) < self._config.max_num_seqs:
            request = waiting.first()
            try:
                if not self._start(request, admission, budget, draft):
                    return
            except Exception as error:  # noqa: BLE001 - whatever it is, it is this request's alone
                self._fail(request, error)

    def _start(self, request: Request, admission: Admission, budget: TokenBudget, draft: StepDraft) -> bool:
        """Starts one waiting request, or has a connector load it; False: it has to wait on."""
        if self._remote is not None and self._remote.is_ready(request):
            if not admission.resumes(request):
                return self._refuse(request, admission)
            self._run(request, admission, budget, draft)
            return True
        hit = self._cache.lookup(request, hit_limit(request))
        promise = None if self._remote is None else self._remote.ask(request, hit.num_tokens)
        if promise is LATER:
            self._requests.park(request)
            return True
        if not admission.allows(request, hit):
            return self._refuse(request, admission)
        self._cache.admit(request, hit)
        request.num_computed_tokens = request.num_done_tokens = hit.num_tokens
        if self._cache.caching and hit_limit(request) is None:
            draft.counters.prefix_queries += request.num_tokens
            draft.counters.prefix_hits += hit.num_tokens
        if self._remote is not None and self._remote.load(request, promise, draft.step):
            admission.reserve_waiting(request)
        else:
            self._run(request, admission, budget, draft)
        return True

    def _run(self, request: Request, admission: Admission, budget: TokenBudget, draft: StepDraft) -> None:
        """Starts a request that holds the blocks of all that is computed of it."""
        if request.first_scheduled_time is None:
            request.first_scheduled_time = self._clock()
            request.num_cached_tokens = request.num_computed_tokens
        count = budget.offer(tokens_to_compute(request))
        if self._cache.allocate(request, request.num_computed_tokens + count) is None:
            raise RuntimeError("a request was let in without room for it")
        budget.take(count)
        admission.reserve(request)
        if self._remote is not None:
            self._remote.started(request)
        self._requests.start(request)
        draft.introduce(request, self._cache.block_ids(request))
        draft.schedule(request, count)

    def _refuse(self, request: Request, admission: Admission) -> bool:
        """A request cannot start; False: it has to wait, True: it need not."""
        if len(self._requests.running):
            return False
        gone = None if self._remote is None else self._remote.make_way(request, ready=True)
        if gone is not None:
            admission.drop(gone)
            return True
        if self._blocks_will_come():
            return False
        self._fail_too_small(request)
        return True

    def _blocks_will_come(self) -> bool:
        return self._remote is not None and self._remote.holds_blocks

    def _fail_too_small(self, request: Request) -> None:
        self._failed.append(self._end(request, FinishReason.ERROR, too_small(request, self._cache)))

    def _fail(self, request: Request, error: Exception) -> None:
        self._failed.append(self._end_by(request, error))

    def _end_by(self, request: Request, error: Exception) -> EngineOutput:
        output = self._end(request, FinishReason.ERROR, _describe(error))
        parameter = error.parameter if isinstance(error, ParameterError) else None
        return msgspec.structs.replace(output, error_parameter=parameter, try_again=isinstance(error, SandboxBusyError))

    def _end(self, request: Request, reason: FinishReason, error: str | None = None) -> EngineOutput:
        """Gives back all that a request holds."""
        if request.status is RequestStatus.RUNNING:
            self._released.append(request.request_id)
        request.finish_reason = reason
        params = None
        if self._remote is not None:
            try:
                params = self._remote.ended(request)
            except RequestFailedError as failed:
                reason, error = FinishReason.ERROR, str(failed)
        self._requests.end(request)
        self._cache.forget(request)
        request.finish_reason, request.error = reason, error
        self._finished.append(finished_record(request, self._clock()))
        if request.data.structured is not None and request.structured is None:
            request.structured = UNFINISHED
        return EngineOutput(
            request_id=request.request_id,
            token_ids=[],
            finish_reason=reason.value,
            error=error,
            num_cached_tokens=request.num_cached_tokens,
            structured=request.structured,
            kv_transfer_params=params,
        )


def _with_end(output: EngineOutput, end: EngineOutput) -> EngineOutput:
    """The last output of a request with what KV connectors made of its end."""
    if end.kv_transfer_params is None and end.error is None:
        return output
    return msgspec.structs.replace(
        output, kv_transfer_params=end.kv_transfer_params, finish_reason=end.finish_reason, error=end.error
    )


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, KerneletError) else f"{type(error).__name__}: {error}"
