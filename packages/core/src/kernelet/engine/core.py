"""The engine's loop: schedule, execute, sample, update."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kernelet.cache.events import CacheEvent
from kernelet.cache.eviction import lru
from kernelet.cache.groups import manager_kinds
from kernelet.cache.manager import CacheManager
from kernelet.contracts.cache import CacheConfigPlan, CachePolicyOffer, CacheSpecOffer, EvictionPolicy, GroupManager
from kernelet.contracts.executor import Executor, SamplePlan, SchedulerOffer, SchedulingPolicy, StepPlan
from kernelet.contracts.kv import SchedulerSide
from kernelet.contracts.offer import Settings
from kernelet.contracts.stats import FinishedRequest, StepStats
from kernelet.engine.structured.forced import ForcedText
from kernelet.engine.structured.grammars import Grammars
from kernelet.engine.structured.masks import MaskFiller
from kernelet.errors import EngineDeadError, ParameterError
from kernelet.request.outputs import EngineOutput
from kernelet.request.request import EngineRequest
from kernelet.request.status import FinishReason
from kernelet.scheduler.kv.remote import KVSetup
from kernelet.scheduler.policies import FCFSPolicy
from kernelet.scheduler.scheduler import Scheduler

if TYPE_CHECKING:
    from kernelet.config import EngineConfig
    from kernelet.contracts.plugins import Owned, PluginView
    from kernelet.engine.kv.making import MadeConnectors

T = TypeVar("T")

RECORDS_KEPT = 100_000
"""Records that nobody takes are forgotten beyond this number, oldest first."""


POLL_SECONDS = 0.003
"""Between two steps that only ask how transfers stand."""


class EngineCore:
    """Drives one executor with up to ``config.scheduler.depth`` steps in flight. Used from one thread.

    After each ``step`` its owner takes what it wants of ``take_finished``, ``take_step_stats``, ``take_cache_events``.

    Attributes:
        selected: Objects in here that are made of plugins' offers, each with its plugin.
    """

    def __init__(
        self,
        config: EngineConfig,
        executor: Executor,
        cache_plan: CacheConfigPlan,
        *,
        policy: SchedulingPolicy | None = None,
        eviction: Callable[[int], EvictionPolicy] = lru,
        managers: Mapping[str, type[GroupManager]] | None = None,
        record_cache_events: bool = False,
        grammars: Grammars | None = None,
        kv: KVSetup | None = None,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Takes a started executor.

        Args:
            config: Context, step limits and cache options.
            executor: Started; its owner shuts it down.
            cache_plan: ``EnginePlan.cache`` of ``executor.start()``.
            policy: Order of requests; None: first come, first served.
            eviction: Makes the eviction policy of one block pool, given its number of blocks.
            managers: ``GroupManager`` classes by tag of their ``CacheSpec``, beside those of core.
            record_cache_events: Keep stored and removed blocks for ``take_cache_events``.
            grammars: Makes the grammars of constrained requests; None: there are none. The core closes it.
            kv: KV connectors; None: there are none.
            clock: The clock of ``EngineRequest.arrival_time``.
            pause: Waits so many seconds between steps that only ask how transfers stand.
        """
        self.selected: list[tuple[str, object]] = []
        self._executor = executor
        self._depth = config.scheduler.depth
        self._grammars = grammars
        self._masks = MaskFiller(config.model.vocab_size, config.structured, _forced_text(config, grammars))
        self._clock = clock
        self._in_flight: deque[tuple[StepPlan, float]] = deque()
        self._failure: str | None = None
        self._step_stats: deque[StepStats] = deque(maxlen=RECORDS_KEPT)
        self._finished: deque[FinishedRequest] = deque(maxlen=RECORDS_KEPT)
        self._last = StepStats(step=0, num_running=0, num_waiting=0)
        self._cache = CacheManager(
            cache_plan,
            config.cache,
            chunk=config.scheduler.max_num_batched_tokens,
            eviction=eviction,
            managers=managers,
            record_events=record_cache_events,
        )
        self._scheduler = Scheduler(
            config.scheduler,
            self._cache,
            max_model_len=config.model.max_model_len,
            policy=policy or FCFSPolicy(Settings(plugin="core")),
            clock=clock,
            kv=kv,
            only=self._masks.only if config.structured.jump_forward else None,
        )
        self._pause = pause
        self._polled = False

    @classmethod
    def from_plugins(
        cls,
        config: EngineConfig,
        executor: Executor,
        cache_plan: CacheConfigPlan,
        plugins: PluginView,
        grammars: Grammars | None = None,
    ) -> EngineCore:
        """Takes the scheduling policy, the eviction policy and further group managers from the selected plugins.

        Raises:
            SelectionError: if a policy that the configuration names is not offered.
        """
        made: list[tuple[str, object]] = []

        def make(owned: Owned[Any], *arguments: object) -> Any:
            made.append((owned.plugin, plugins.load(owned)(plugins.settings(owned.plugin), *arguments)))
            return made[-1][1]

        core = cls(
            config,
            executor,
            cache_plan,
            policy=make(plugins.select(SchedulerOffer, config.scheduler.policy).chosen),
            eviction=partial(make, plugins.select(CachePolicyOffer, config.cache.eviction_policy).chosen),
            managers=manager_kinds((owned.offer.kind, plugins.load(owned)) for owned in plugins.offers(CacheSpecOffer)),
            record_cache_events=config.kv_events.enable_kv_cache_events,
            grammars=grammars,
        )
        core.selected = made
        return core

    def connect(self, made: MadeConnectors) -> None:
        """Takes KV connectors, while there is no request."""
        self._scheduler.connect(made.setup)
        self.selected += made.sides

    def disconnect(self) -> None:
        """Ends the KV connectors, while there is no request, or for good; after the workers' sides."""
        self._scheduler.close()
        self.selected[:] = [one for one in self.selected if not isinstance(one[1], SchedulerSide)]

    def add_request(self, request: EngineRequest) -> None:
        """Takes up one choice.

        Raises:
            RequestError: it cannot be served (empty, too long, its id is in use); nothing else is touched.
            EngineDeadError: the engine has failed.
        """
        self._check_alive()
        if request.structured is not None and self._grammars is None:
            raise ParameterError("structured_outputs", "this engine holds no text to a constraint")
        self._scheduler.add(request)
        if request.structured is not None and self._grammars is not None:
            self._grammars.want(request.request_id, request.structured)

    def abort(self, request_ids: Iterable[str], reason: FinishReason = FinishReason.ABORT) -> list[EngineOutput]:
        """Ends choices now; ids that are unknown or have ended are skipped.

        Args:
            request_ids: Choices to end.
            reason: ``STOP`` where the frontend found a stop string.

        Returns:
            The last output of each choice that was alive.
        """
        outputs = self._scheduler.abort(request_ids, reason)
        if self._grammars is not None:
            self._grammars.forget(output.request_id for output in outputs)
        self._finished.extend(self._scheduler.take_finished())
        return outputs

    def step(self) -> list[EngineOutput]:
        """Fills the pipeline with steps, finishes the oldest, and returns what is new.

        Raises:
            EngineDeadError: the executor failed; every request has been failed and no further one is taken.
        """
        self._check_alive()
        try:
            outputs = self._advance()
        except Exception as error:
            self._fail(error)
            raise EngineDeadError(self._failure) from error
        finally:
            self._finished.extend(self._scheduler.take_finished())
        return outputs

    def has_unfinished(self) -> bool:
        """Whether there are requests, steps in flight, or ended requests that workers still hold."""
        return self._failure is None and (bool(self._in_flight) or self._scheduler.has_work())

    def can_step(self) -> bool:
        """Whether ``step`` would do something now: not where all that is left waits for grammars."""
        if self._failure is not None:
            return False
        news = self._grammars is not None and self._grammars.has_news
        return news or bool(self._in_flight) or self._scheduler.can_schedule()

    def on_news(self, wake: Callable[[], None]) -> None:
        """From now on ``wake`` is called, on some thread, when ``can_step`` becomes true without a call."""
        if self._grammars is not None:
            self._grammars.on_news(wake)

    def close(self) -> None:
        """Ends what makes grammars and masks."""
        if self._grammars is not None:
            self._grammars.close()
        self._masks.close()

    def stats(self) -> StepStats:
        """The last finished step."""
        return self._last

    def take_step_stats(self) -> list[StepStats]:
        """One record a finished step, since the last call."""
        return _drain(self._step_stats)

    def take_finished(self) -> list[FinishedRequest]:
        """One record an ended choice, since the last call."""
        return _drain(self._finished)

    def take_cache_events(self) -> list[CacheEvent]:
        """Blocks that entered or left the prefix index, since the last call."""
        return self._cache.take_events()

    def reset_prefix_cache(self, *, reset_connector: bool = False) -> None:
        """Forgets all cached prefixes; running requests keep their own blocks, which are not shared any more.

        Args:
            reset_connector: KV connectors forget theirs too.

        Raises:
            PluginError: none runs, or one of them could not.
        """
        self._cache.reset_prefix_cache()
        if reset_connector:
            self._scheduler.reset_connectors()

    @property
    def cache(self) -> CacheManager:
        """The cache, to look at."""
        return self._cache

    def _advance(self) -> list[EngineOutput]:
        self._take_grammars()
        progress = False
        while len(self._in_flight) < self._depth:
            started = self._clock()
            plan = self._scheduler.schedule()
            if plan is None:
                break
            self._pace(plan)
            self._executor.execute_model(plan)
            self._in_flight.append((plan, started))
        outputs: list[EngineOutput] = []
        if self._in_flight:
            plan, started = self._in_flight.popleft()
            result = self._executor.sample(SamplePlan(step=plan.step, mask_rows=self._mask_rows()))
            outputs, stats = self._scheduler.update(result, started)
            self._last = stats
            self._step_stats.append(stats)
            progress = True
        outputs = [*self._scheduler.take_failed(), *outputs]
        if not progress and not outputs and self._scheduler.can_schedule():
            raise RuntimeError("the scheduler has requests and schedules none of them; please report this")
        return outputs

    def _pace(self, plan: StepPlan) -> None:
        """The second of two steps that only ask how transfers stand goes out a little later."""
        polls = not (plan.scheduled or plan.finished or plan.preempted)
        if polls and self._polled:
            self._pause(POLL_SECONDS)
        self._polled = polls

    def _take_grammars(self) -> None:
        for made in () if self._grammars is None else self._grammars.take():
            if made.error is not None:
                self._scheduler.fail(made.request_id, made.error)
            else:
                assert made.grammar is not None
                self._scheduler.constrain(made.request_id, made.grammar)

    def _mask_rows(self) -> dict[str, bytes]:
        """Of the oldest step in flight, while its forward pass runs; a request without one fails."""
        constrained = self._scheduler.constrained()
        if not constrained:
            return {}
        rows, failures = self._masks.rows([request for request, token in constrained.items() if token is None])
        rows |= {one.request_id: self._masks.single(token) for one, token in constrained.items() if token is not None}
        for request, error in failures:
            self._scheduler.fail(request.request_id, error)
        return rows

    def _check_alive(self) -> None:
        if self._failure is not None:
            raise EngineDeadError(self._failure)

    def _fail(self, error: Exception) -> None:
        name = "" if isinstance(error, EngineDeadError) else f"{type(error).__name__}: "
        self._failure = f"the engine stopped: {name}{error}"
        self._in_flight.clear()
        self._scheduler.fail_all(self._failure)


def _forced_text(config: EngineConfig, grammars: Grammars | None) -> ForcedText | None:
    """What says how text is written that must come; logits processors have a say in it, where there are any."""
    return None if grammars is None or config.plugins.logits_processors else grammars.forced_text


def _drain(records: deque[T]) -> list[T]:
    taken = list(records)
    records.clear()
    return taken
