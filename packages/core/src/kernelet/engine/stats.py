"""Statistics: totals for callers, and stat loggers that cannot hurt the engine."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kernelet.cache.groups import spec_kind
from kernelet.config import EngineConfig
from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.offer import Settings
from kernelet.contracts.serving import Exposition
from kernelet.contracts.stats import CacheInfo, EngineInfo, FinishedRequest, PluginInfo, StatLogger, StepStats

logger = logging.getLogger(__name__)

Number = TypeVar("Number", int, float)

LOG_INTERVAL = 10.0
"""Seconds between calls of ``StatLogger.log``."""

_COUNTERS = (
    "num_prefill_tokens",
    "num_decode_tokens",
    "num_forced_tokens",
    "num_chunked",
    "num_preempted",
    "prefix_queries",
    "prefix_hits",
    "external_queries",
    "external_hits",
    "num_loads",
)


@dataclass(frozen=True, kw_only=True)
class EngineStats:
    """Totals since the start.

    Attributes:
        num_steps: Finished steps.
        num_mixed_steps: Steps that computed prompt tokens and decoded.
        num_prefill_tokens: Prompt tokens computed, recomputed ones included.
        num_decode_tokens: Tokens generated.
        num_forced_tokens: Those of them that a constraint left no choice about, and that no step sampled.
        num_chunked: Prefills that were cut by the token budget.
        num_preempted: Preemptions.
        prefix_queries: Prompt tokens looked up in the prefix index.
        prefix_hits: Prompt tokens found there.
        external_queries: Tokens that KV connectors were asked for.
        external_hits: Tokens that they loaded.
        num_loads: Loads that brought something.
        load_failures: Loads and handovers of KV connectors that failed, by kind.
        kv_connectors: What connectors counted, by their name.
        finished: Ended choices by finish reason.
        last: The last step.
    """

    num_steps: int = 0
    num_mixed_steps: int = 0
    num_prefill_tokens: int = 0
    num_decode_tokens: int = 0
    num_forced_tokens: int = 0
    num_chunked: int = 0
    num_preempted: int = 0
    prefix_queries: int = 0
    prefix_hits: int = 0
    external_queries: int = 0
    external_hits: int = 0
    num_loads: int = 0
    load_failures: dict[str, int] = field(default_factory=dict)
    kv_connectors: dict[str, dict[str, float]] = field(default_factory=dict)
    finished: dict[str, int] = field(default_factory=dict)
    last: StepStats | None = None


def engine_info(
    config: EngineConfig, plan: EnginePlan, plugins: Sequence[PluginInfo] = (), served_model_name: str = ""
) -> EngineInfo:
    """What stat loggers are told of a started engine."""
    groups = plan.cache.groups if plan.cache is not None else ()
    return EngineInfo(
        model=config.model.model,
        architecture=plan.architecture,
        dtype=plan.dtype,
        max_model_len=plan.max_model_len,
        platform=plan.platform,
        num_ranks=config.parallel.tensor_parallel_size,
        max_num_seqs=config.scheduler.max_num_seqs,
        max_num_batched_tokens=config.scheduler.max_num_batched_tokens,
        enable_prefix_caching=config.cache.enable_prefix_caching,
        caches=tuple(
            CacheInfo(kind=spec_kind(one.spec), block_size=one.spec.block_size, num_blocks=one.num_blocks)
            for one in groups
        ),
        plugins=tuple(plugins),
        served_model_name=served_model_name,
    )


class StatTotals:
    """Adds up steps and finished requests. Written by one thread; ``snapshot`` may be read from any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums = dict.fromkeys(("num_steps", "num_mixed_steps", *_COUNTERS), 0)
        self._finished: dict[str, int] = {}
        self._load_failures: dict[str, int] = {}
        self._kv_connectors: dict[str, dict[str, float]] = {}
        self._last: StepStats | None = None

    def add(self, steps: Sequence[StepStats], finished: Sequence[FinishedRequest]) -> None:
        with self._lock:
            for step in steps:
                for name in _COUNTERS:
                    self._sums[name] += getattr(step, name)
                self._sums["num_steps"] += 1
                self._sums["num_mixed_steps"] += step.num_prefill_requests > 0 and step.num_decode_requests > 0
                self._last = step
                add_counts(self._load_failures, step.load_failures)
                for name, counters in step.kv_connectors.items():
                    add_counts(self._kv_connectors.setdefault(name, {}), counters)
            for request in finished:
                self._finished[request.finish_reason] = self._finished.get(request.finish_reason, 0) + 1

    def snapshot(self) -> EngineStats:
        with self._lock:
            return EngineStats(
                finished=dict(self._finished),
                load_failures=dict(self._load_failures),
                kv_connectors={name: dict(counters) for name, counters in self._kv_connectors.items()},
                last=self._last,
                **self._sums,
            )


def add_counts(totals: dict[str, Number], counts: Mapping[str, Number]) -> None:
    """Adds to totals by name."""
    for name, count in counts.items():
        totals[name] = totals[name] + count if name in totals else count


class StatDispatcher:
    """Hands statistics to all loggers. One that raises is switched off, with one error in the log.

    Args:
        loggers: By name.
        clock: Seconds, rising.
    """

    def __init__(self, loggers: Iterable[tuple[str, StatLogger]], clock: Callable[[], float] = time.monotonic) -> None:
        self._loggers = list(loggers)
        self._lock = threading.Lock()
        self._clock = clock
        self._logged = clock()

    def dispatch(self, steps: Sequence[StepStats], finished: Sequence[FinishedRequest]) -> None:
        """After a step."""
        for step in steps:
            self._each(lambda one, step=step: one.record(step))  # type: ignore[misc]
        for request in finished:
            self._each(lambda one, request=request: one.record_finished(request))  # type: ignore[misc]
        if self._loggers and self._clock() - self._logged >= LOG_INTERVAL:
            self._logged = self._clock()
            self._each(lambda one: one.log())

    def expositions(self) -> list[Exposition]:
        """What the loggers show; from any thread."""
        found: list[Exposition | None] = []
        self._each(lambda one: found.append(one.exposition()))
        return [one for one in found if one is not None]

    def close(self) -> None:
        """The engine stops."""
        self._each(lambda one: one.log())
        self._each(lambda one: one.close())
        self._loggers.clear()

    def _each(self, call: Callable[[StatLogger], None]) -> None:
        with self._lock:
            for entry in list(self._loggers):
                try:
                    call(entry[1])
                except Exception:
                    self._loggers.remove(entry)
                    logger.exception("stat logger %s failed and is switched off", entry[0])


class LoggingStatLogger(StatLogger):
    """Writes throughput, queue and cache use to the log ``kernelet.engine.stats``, at level INFO."""

    def __init__(self, settings: Settings, engine: EngineInfo, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(settings, engine)
        self._clock = clock
        self._totals = StatTotals()
        self._since = clock()
        self._before = EngineStats()

    def record(self, stats: StepStats) -> None:
        self._totals.add([stats], [])

    def record_finished(self, request: FinishedRequest) -> None:
        self._totals.add([], [request])

    def log(self) -> None:
        now, before, seconds = self._totals.snapshot(), self._before, max(self._clock() - self._since, 1e-9)
        if now.last is None or now.num_steps == before.num_steps:
            return
        queries = now.prefix_queries - before.prefix_queries
        logger.info(
            "prompt %.1f tokens/s, generation %.1f tokens/s, running %d, waiting %d, preempted %d, cache %.1f%%, "
            "prefix hits %.1f%%",
            (now.num_prefill_tokens - before.num_prefill_tokens) / seconds,
            (now.num_decode_tokens - before.num_decode_tokens) / seconds,
            now.last.num_running,
            now.last.num_waiting,
            now.num_preempted - before.num_preempted,
            now.last.cache_usage * 100,
            (now.prefix_hits - before.prefix_hits) / queries * 100 if queries else 0.0,
        )
        self._before, self._since = now, self._clock()
