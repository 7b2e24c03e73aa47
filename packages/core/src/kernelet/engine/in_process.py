"""The engine's core on a thread of its own, in the frontend's process."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol, TypeVar

from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.stats import FinishedRequest, StepStats
from kernelet.engine.core_client import CoreClient, Sink
from kernelet.engine.stats import EngineStats, StatDispatcher, StatTotals
from kernelet.errors import EngineDeadError, KerneletError, ParameterError, PluginError
from kernelet.request.outputs import EngineOutput
from kernelet.request.request import EngineRequest
from kernelet.request.status import FinishReason

logger = logging.getLogger(__name__)

T = TypeVar("T")

STOP_SECONDS = 30.0
"""How long a stop waits for the step that is being computed."""

Handler = Callable[[str, bytes], bytes]
"""A plugin's answer to ``control``: (name, payload) -> bytes."""


class Core(Protocol):
    """What the thread drives; ``kernelet.engine.core.EngineCore`` is one."""

    def add_request(self, request: EngineRequest) -> None: ...
    def abort(self, request_ids: Iterable[str], reason: FinishReason = ...) -> list[EngineOutput]: ...
    def step(self) -> list[EngineOutput]: ...
    def has_unfinished(self) -> bool: ...
    def take_step_stats(self) -> list[StepStats]: ...
    def take_finished(self) -> list[FinishedRequest]: ...
    def reset_prefix_cache(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class RunningCore:
    """A core and what belongs to it.

    Attributes:
        close: Stops the executor; called once, on the engine's thread.
        controls: Handlers of ``control`` by plugin.
    """

    core: Core
    plan: EnginePlan
    close: Callable[[], None]
    stats: StatDispatcher
    controls: dict[str, Handler]


class InProcessClient(CoreClient):
    """Starts the core on a new thread, where every call of executor and worker is made, and feeds it.

    Args:
        start: Makes the core; called on the engine's thread. What it raises, the constructor raises.
    """

    def __init__(self, start: Callable[[], RunningCore]) -> None:
        self._commands: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._sinks: dict[str, Sink] = {}
        self._lock = threading.Lock()
        self._death: EngineDeadError | None = None
        self._totals = StatTotals()
        started: Future[RunningCore] = Future()
        self._thread = threading.Thread(target=self._main, args=(start, started), name="kernelet-engine", daemon=True)
        self._thread.start()
        self._running = started.result()

    @property
    def plan(self) -> EnginePlan:
        return self._running.plan

    def add(self, requests: Sequence[EngineRequest], sink: Sink) -> None:
        with self._lock:
            self._check_alive()
            for request in requests:
                if request.request_id in self._sinks:
                    raise ParameterError("request_id", f"{request.request_id!r} is in use: choose another")
            self._sinks.update((request.request_id, sink) for request in requests)
            self._commands.put(lambda: self._add(requests))

    def abort(self, request_ids: Iterable[str], reason: FinishReason = FinishReason.ABORT) -> None:
        with self._lock:
            known = [request_id for request_id in request_ids if self._sinks.pop(request_id, None) is not None]
            if known and self._death is None:
                self._commands.put(lambda: self._abort(known, reason))

    def stats(self) -> EngineStats:
        return self._totals.snapshot()

    def reset_prefix_cache(self) -> None:
        self._call(self._running.core.reset_prefix_cache)

    def control(self, plugin: str, name: str, payload: bytes) -> bytes:
        handler = self._running.controls.get(plugin)
        if handler is None:
            known = ", ".join(sorted(self._running.controls)) or "none"
            raise PluginError(f"plugin {plugin!r} takes no control calls (those that do: {known})")
        return self._call(lambda: handler(name, payload))

    def check_health(self) -> None:
        with self._lock:
            self._check_alive()

    def shutdown(self) -> None:
        self._commands.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join(STOP_SECONDS)

    def _check_alive(self) -> None:
        if self._death is not None:
            raise EngineDeadError(str(self._death)) from self._death

    def _call(self, function: Callable[[], T]) -> T:
        """Runs something on the engine's thread, between two steps."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(function())
            except Exception as error:  # noqa: BLE001  it belongs to the caller
                future.set_exception(error)

        with self._lock:
            self._check_alive()
            self._commands.put(run)
        return future.result()

    # --- on the engine's thread ----------------------------------------------------------------

    def _main(self, start: Callable[[], RunningCore], started: Future[RunningCore]) -> None:
        try:
            running = start()
        except BaseException as error:  # noqa: BLE001  the constructor raises it
            self._die(EngineDeadError("the engine did not start"))
            started.set_exception(error)
            return
        self._running = running
        started.set_result(running)
        try:
            self._loop(running)
            death = EngineDeadError("the engine was shut down")
        except Exception as error:
            logger.exception("the engine stopped")
            death = error if isinstance(error, EngineDeadError) else EngineDeadError(f"the engine stopped: {error!r}")
        self._die(death)
        self._close(running)

    def _loop(self, running: RunningCore) -> None:
        while True:
            while self._commands.qsize() or not running.core.has_unfinished():
                command = self._commands.get()
                if command is None:
                    return
                command()
            try:
                self._deliver(running.core.step())
            finally:
                self._count(running)

    def _add(self, requests: Sequence[EngineRequest]) -> None:
        for request in requests:
            try:
                self._running.core.add_request(request)
            except KerneletError as error:
                message = str(error)
            except Exception as error:
                logger.exception("request %s was not taken", request.request_id)
                message = f"{type(error).__name__}: {error}"
            else:
                continue
            self._deliver(
                [EngineOutput(request_id=request.request_id, token_ids=[], finish_reason="error", error=message)]
            )

    def _abort(self, request_ids: list[str], reason: FinishReason) -> None:
        self._running.core.abort(request_ids, reason)
        self._count(self._running)

    def _deliver(self, outputs: list[EngineOutput]) -> None:
        by_sink: dict[int, tuple[Sink, list[EngineOutput]]] = {}
        with self._lock:
            for output in outputs:
                sink = self._sinks.get(output.request_id)
                if sink is None:
                    continue
                by_sink.setdefault(id(sink), (sink, []))[1].append(output)
                if output.finish_reason is not None:
                    del self._sinks[output.request_id]
        for sink, mine in by_sink.values():
            self._hand_over(sink, mine)

    def _hand_over(self, sink: Sink, outputs: Sequence[EngineOutput] | EngineDeadError) -> None:
        try:
            sink(outputs)
        except Exception:
            logger.exception("a consumer of outputs failed; its requests are dropped")
            if not isinstance(outputs, EngineDeadError):
                self.abort([output.request_id for output in outputs])

    def _count(self, running: RunningCore) -> None:
        steps, finished = running.core.take_step_stats(), running.core.take_finished()
        self._totals.add(steps, finished)
        running.stats.dispatch(steps, finished)

    def _die(self, death: EngineDeadError) -> None:
        with self._lock:
            self._death = death
            sinks = {id(sink): sink for sink in self._sinks.values()}
            self._sinks.clear()
        for sink in sinks.values():
            self._hand_over(sink, death)
        while self._commands.qsize():
            command = self._commands.get()
            if command is not None:
                command()

    @staticmethod
    def _close(running: RunningCore) -> None:
        try:
            running.stats.close()
            running.close()
        except Exception:
            logger.exception("the engine did not close cleanly")
