"""The engine's core on a thread of its own, in the frontend's process."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.serving import EngineHealth, Exposition
from kernelet.engine.core_client import CoreClient, Sink
from kernelet.engine.driver import DETAILS, CoreDriver, RunningCore, stalled_step
from kernelet.engine.sinks import Sinks
from kernelet.engine.stats import EngineStats, StatTotals
from kernelet.errors import EngineDeadError
from kernelet.request.request import EngineRequest
from kernelet.request.status import FinishReason

logger = logging.getLogger(__name__)

STOP_SECONDS = 30.0
"""How long a stop waits for the step that is being computed."""


class InProcessClient(CoreClient):
    """Starts the core on a new thread, where every call of executor and worker is made, and feeds it.

    Args:
        start: Makes the core; called on the engine's thread. What it raises, the constructor raises.
        step_timeout: Seconds that one step may take; then the engine counts as stalled.
    """

    def __init__(self, start: Callable[[], RunningCore], step_timeout: float = float("inf")) -> None:
        self._step_timeout = step_timeout
        self._commands: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._sinks = Sinks(self.abort)
        self._totals = StatTotals()
        self._progress = time.monotonic()
        started: Future[RunningCore] = Future()
        self._thread = threading.Thread(target=self._main, args=(start, started), name="kernelet-engine", daemon=True)
        self._thread.start()
        self._running = started.result()

    @property
    def plan(self) -> EnginePlan:
        return self._running.plan

    def add(self, requests: Sequence[EngineRequest], sink: Sink) -> None:
        with self._lock:
            self._sinks.add(requests, sink)
            self._commands.put(lambda: self._add(requests))

    def abort(self, request_ids: Iterable[str], reason: FinishReason = FinishReason.ABORT) -> None:
        with self._lock:
            known = self._sinks.remove(request_ids)
            if known and self._sinks.death is None:
                self._commands.put(lambda: self._driver.abort(known, reason))

    def stats(self) -> EngineStats:
        return self._totals.snapshot()

    def expositions(self) -> list[Exposition]:
        return self._running.stats.expositions()

    def reset_prefix_cache(self, *, reset_connector: bool = False) -> None:
        self._call("reset_prefix_cache", reset_connector)

    def control(self, plugin: str, name: str, payload: bytes) -> bytes:
        answer: bytes = self._call("control", plugin, name, payload)
        return answer

    def sleep(self, level: int) -> None:
        self._call("sleep", level)

    def wake_up(self) -> None:
        self._call("wake_up")

    def drain(self) -> None:
        self._call("drain")

    def health(self) -> EngineHealth:
        age = max(0.0, time.monotonic() - self._progress) if self._driver.runnable else 0.0
        death = self._sinks.death
        if death is not None:
            return EngineHealth(state="dead", detail=str(death), age=age)
        if age > self._step_timeout:
            return EngineHealth(state="stalled", detail=stalled_step(age), age=age)
        state = self._driver.state
        return EngineHealth(state=state, detail=DETAILS.get(state, ""), age=age)

    def shutdown(self) -> None:
        self._commands.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join(STOP_SECONDS)

    def _call(self, name: str, *arguments: Any) -> Any:
        """Runs something on the engine's thread, between two steps."""
        future: Future[Any] = Future()

        def answer(value: Any, error: Exception | None) -> None:
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

        with self._lock:
            self._sinks.check_alive()
            self._commands.put(lambda: self._driver.call(name, arguments, answer))
        return future.result()

    # --- on the engine's thread ----------------------------------------------------------------

    def _main(self, start: Callable[[], RunningCore], started: Future[RunningCore]) -> None:
        try:
            running = start()
        except BaseException as error:  # noqa: BLE001  the constructor raises it
            self._sinks.close(EngineDeadError("the engine did not start"))
            started.set_exception(error)
            return
        self._running, self._driver = running, CoreDriver(running)
        running.on_news(lambda: self._commands.put(lambda: None))  # what waits for a command looks again
        started.set_result(running)
        try:
            self._loop(self._driver)
            death = EngineDeadError("the engine was shut down")
        except Exception as error:
            logger.exception("the engine stopped")
            death = error if isinstance(error, EngineDeadError) else EngineDeadError(f"the engine stopped: {error!r}")
        self._die(death)
        self._close(running)

    def _loop(self, driver: CoreDriver) -> None:
        while True:
            while self._commands.qsize() or not driver.runnable:
                command = self._commands.get()
                if command is None:
                    return
                self._progress = time.monotonic()
                command()
                self._deliver()
            try:
                driver.step()
            finally:
                self._deliver()

    def _add(self, requests: Sequence[EngineRequest]) -> None:
        for request in requests:
            self._driver.add(request)

    def _deliver(self) -> None:
        """First the statistics: whoever has the last token of a request finds it in them."""
        self._progress = time.monotonic()
        steps, finished = self._driver.take_stats()
        if steps or finished:
            self._totals.add(steps, finished)
            self._running.stats.dispatch(steps, finished)
        self._sinks.deliver(self._driver.take_outputs())

    def _die(self, death: EngineDeadError) -> None:
        with self._lock:
            self._sinks.close(death)
        self._sinks.fail(death)
        while self._commands.qsize():
            command = self._commands.get()
            if command is not None:
                command()
        self._driver.give_up(death)

    @staticmethod
    def _close(running: RunningCore) -> None:
        try:
            running.stats.close()
            running.close()
        except Exception:
            logger.exception("the engine did not close cleanly")
