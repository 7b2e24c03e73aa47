"""A worker process a rank, all on this machine."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Sequence

import msgspec

from kernelet.cache.groups import manager_kinds
from kernelet.cache.sizing import plan_cache
from kernelet.config import EngineConfig
from kernelet.contracts.cache import CacheSpecOffer
from kernelet.contracts.executor import EnginePlan, Executor, SamplePlan, StepPlan, StepResult
from kernelet.contracts.kv_start import KVStart, KVStarted
from kernelet.contracts.platform import PlatformChoice
from kernelet.contracts.plugins import PluginView
from kernelet.errors import EngineDeadError, ManifestMismatchError, PluginError
from kernelet.executor.failures import revive
from kernelet.executor.multiprocess.crew import Crew
from kernelet.executor.multiprocess.messages import (
    Allocate,
    Connect,
    Connected,
    Control,
    Controlled,
    Describe,
    Done,
    Execute,
    Load,
    Needs,
    Planned,
    Ready,
    Rest,
    Sample,
    Sampled,
    Start,
)


class MultiprocessExecutor(Executor):
    """Sends every plan to every rank; the first one's results count, and all ranks' extensions.

    Processes are spawned and given this one's manifest and configuration; what they run is proven to be the same.
    """

    def __init__(self, config: EngineConfig, platform: PlatformChoice, plugins: PluginView) -> None:
        self._config = config
        self._platform = platform
        self._plugins = plugins
        self._crew: Crew | None = None
        self._failure = "the workers are not running: start the executor, or make a new engine"

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids, by rank."""
        return self._running().pids

    def start(self) -> EnginePlan:
        starts = self._starts()
        crew = self._crew = Crew(len(starts))
        try:
            return self._start(crew, starts)
        except BaseException:
            self.shutdown()
            raise

    def start_kv_transfer(self, start: KVStart) -> Sequence[KVStarted]:
        crew = self._running()
        try:
            crew.tell(Connect(start))
            return [connected.started for connected in crew.hear(Connected)]
        except Exception as error:
            self._over(error)
            raise

    def execute_model(self, plan: StepPlan) -> None:
        try:
            self._running().tell(Execute(plan))
        except Exception as error:
            raise self._over(error) from error

    def sample(self, plan: SamplePlan) -> StepResult:
        crew = self._running()
        try:
            crew.tell(Sample(plan))
            first, *others = (answer.result for answer in crew.hear(Sampled))
        except Exception as error:
            raise self._over(error) from error
        if not (first.extensions or any(other.extensions for other in others)):
            return first
        return msgspec.structs.replace(first, extensions=merged(first, *others))

    def check_health(self) -> None:
        try:
            self._running().check()
        except Exception as error:
            raise self._over(error) from error

    def shutdown(self) -> None:
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.close()

    def sleep(self, level: int) -> None:
        if not self._rest(level):
            super().sleep(level)

    def wake_up(self) -> None:
        self._rest(0)

    def control(self, plugin: str, name: str, payload: bytes) -> Sequence[bytes]:
        crew = self._running()
        try:
            crew.tell(Control(plugin, name, payload))
            ranks = crew.hear(Controlled)
        except Exception as error:
            raise self._over(error) from error
        for rank, one in enumerate(ranks):
            if one.failure is not None:
                raise revive(one.failure, f"the worker of rank {rank}")
        return [answer for one in ranks for answer in one.answers]

    def _rest(self, level: int) -> bool:
        """Whether the workers can rest, all of one class."""
        crew = self._running()
        try:
            crew.tell(Rest(level))
            return all(done.able for done in crew.hear(Done))
        except Exception as error:
            raise self._over(error) from error

    def _starts(self) -> list[Start]:
        size = self._config.parallel.tensor_parallel_size
        manifest, address = self._plugins.manifest.encode(), free_address()
        return [
            Start(
                path=list(sys.path),
                log_level=logging.getLogger("kernelet").getEffectiveLevel(),
                manifest=manifest,
                config=self._config,
                platform=self._platform,
                rank=rank,
                world_size=size,
                address=address,
            )
            for rank in range(size)
        ]

    def _start(self, crew: Crew, starts: list[Start]) -> EnginePlan:
        crew.tell(starts)
        check_manifests(self._plugins.manifest.digest, [ready.digest for ready in crew.hear(Ready)])
        crew.tell(Load())
        crew.hear(Done)
        crew.tell(Describe())
        needs = crew.hear(Needs)
        if any(need.specs != needs[0].specs for need in needs):
            raise PluginError("the ranks' layers keep different things in their caches; their model must be the same")
        managers = manager_kinds(
            (owned.offer.kind, self._plugins.load(owned)) for owned in self._plugins.offers(CacheSpecOffer)
        )
        available = min(need.available_bytes for need in needs)
        cache = plan_cache(needs[0].specs, self._config, available, managers)
        crew.tell(Allocate(cache))
        plans = [planned.plan for planned in crew.hear(Planned)]
        check_plans(plans)
        return msgspec.structs.replace(plans[0], cache=cache)

    def _running(self) -> Crew:
        if self._crew is None:
            raise EngineDeadError(self._failure)
        return self._crew

    def _over(self, error: Exception) -> EngineDeadError:
        """The crew has ended; every later call says why."""
        self._crew = None
        dead = error if isinstance(error, EngineDeadError) else None
        self._failure = str(error) if dead else f"a worker failed: {type(error).__name__}: {error}"
        return dead or EngineDeadError(self._failure)


def free_address() -> str:
    """Where ranks of this machine can meet."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{listener.getsockname()[1]}"


def merged(*results: StepResult) -> dict[str, list[bytes]]:
    """Extensions of all ranks, in their order, by plugin name."""
    found: dict[str, list[bytes]] = {}
    for result in results:
        for name, parts in result.extensions.items():
            found.setdefault(name, []).extend(parts)
    return found


def check_manifests(mine: str, theirs: list[str]) -> None:
    """Every rank proved that it runs the same plugins.

    Raises:
        ManifestMismatchError: one does not.
    """
    other = [rank for rank, digest in enumerate(theirs) if digest != mine]
    if other:
        raise ManifestMismatchError(
            f"the worker of rank {other[0]} runs the plugins {theirs[other[0]][:12]}, its parent {mine[:12]}: install "
            "the same versions for both"
        )


def check_plans(plans: list[EnginePlan]) -> None:
    """Every rank computes every layer as the first one does.

    Raises:
        PluginError: naming the first difference.
    """
    for rank, plan in enumerate(plans):
        for layer, wanted in zip(plan.layers, plans[0].layers, strict=False):
            mine, first = (f"{one.name} with {one.choice} ({one.detail})" for one in (layer, wanted))
            if mine != first:
                raise PluginError(f"rank {rank} computes {mine}, but rank 0 computes {first}: report it")
        if msgspec.structs.replace(plan, layers=()) != msgspec.structs.replace(plans[0], layers=()):
            raise PluginError(f"rank {rank} plans {plan}, but rank 0 plans {plans[0]}: report it")
        if len(plan.layers) != len(plans[0].layers):
            raise PluginError(
                f"rank {rank} computes {len(plan.layers)} layers, but rank 0 {len(plans[0].layers)}: report it"
            )
