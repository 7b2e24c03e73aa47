"""One worker, in the engine's process and on the thread that calls."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from kernelet.cache.groups import manager_kinds
from kernelet.cache.sizing import plan_cache
from kernelet.config import EngineConfig
from kernelet.contracts.cache import CacheSpecOffer
from kernelet.contracts.executor import (
    EnginePlan,
    Executor,
    SamplePlan,
    Sleep,
    StepPlan,
    StepResult,
    Worker,
    WorkerContext,
)
from kernelet.contracts.kv_start import KVStart, KVStarted
from kernelet.contracts.platform import PlatformChoice, PlatformOffer
from kernelet.contracts.plugins import PluginView
from kernelet.errors import ConfigError, EngineDeadError
from kernelet.executor.kv_transfer import begin_kv_transfer

logger = logging.getLogger(__name__)


class InProcessExecutor(Executor):
    """Calls the platform's worker directly; plans are handed over as they are."""

    def __init__(self, config: EngineConfig, platform: PlatformChoice, plugins: PluginView) -> None:
        if config.parallel.tensor_parallel_size != 1:
            raise ConfigError(
                f"--tensor-parallel-size {config.parallel.tensor_parallel_size}: the in-process executor has one rank: "
                "name another with --distributed-executor-backend, or use 1"
            )
        self._config = config
        self._platform = platform
        self._plugins = plugins
        self._worker: Worker | None = None

    def start(self) -> EnginePlan:
        worker = self._worker = self._make_worker()
        worker.init_device()
        worker.load_model()
        managers = manager_kinds(
            (owned.offer.kind, self._plugins.load(owned)) for owned in self._plugins.offers(CacheSpecOffer)
        )
        specs = worker.get_kv_cache_spec()
        cache = plan_cache(specs, self._config, worker.determine_available_memory(), managers)
        worker.initialize_from_config(cache)
        worker.compile_or_warm_up_model()
        return msgspec.structs.replace(worker.get_plan(), cache=cache)

    def start_kv_transfer(self, start: KVStart) -> Sequence[KVStarted]:
        return (begin_kv_transfer(self._running(), start),)

    def execute_model(self, plan: StepPlan) -> None:
        self._running().execute_model(plan)

    def sample(self, plan: SamplePlan) -> StepResult:
        return self._running().sample(plan)

    def check_health(self) -> None:
        self._running()

    def shutdown(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.shutdown()

    def sleep(self, level: int) -> None:
        worker = self._running()
        if isinstance(worker, Sleep):
            self._rest(partial(worker.sleep, level), "falling asleep")
        else:
            super().sleep(level)

    def wake_up(self) -> None:
        worker = self._running()
        if isinstance(worker, Sleep):
            self._rest(worker.wake_up, "waking up")

    def control(self, plugin: str, name: str, payload: bytes) -> Sequence[bytes]:
        return self._running().control(plugin, name, payload)

    def _rest(self, call: Callable[[], None], what: str) -> None:
        """A worker that fails in the middle of it has neither slept nor woken up, and can do nothing any more."""
        try:
            call()
        except Exception as error:
            logger.exception("the worker failed while it was %s", what)
            with contextlib.suppress(Exception):
                self.shutdown()
            raise EngineDeadError(f"the worker failed while it was {what}: {type(error).__name__}: {error}") from error

    def _make_worker(self) -> Worker:
        owned = self._plugins.select(PlatformOffer, self._platform.name).chosen
        worker: Worker = self._plugins.load(owned, owned.offer.worker)(
            WorkerContext(config=self._config, platform=self._platform, plugins=self._plugins)
        )
        return worker

    def _running(self) -> Worker:
        if self._worker is None:
            raise EngineDeadError("the worker is not running: start the executor, or make a new engine")
        return self._worker
