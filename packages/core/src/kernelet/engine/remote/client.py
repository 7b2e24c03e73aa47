"""The way to an engine in another process."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.serving import EngineHealth, Exposition
from kernelet.contracts.stats import FinishedRequest
from kernelet.engine.core_client import CoreClient, Sink
from kernelet.engine.remote.launch import Launcher
from kernelet.engine.remote.line import Line, RemoteOptions
from kernelet.engine.remote.meeting import MeetingPlace
from kernelet.engine.remote.messages import (
    Abort,
    Add,
    Call,
    FrontendMessage,
    Lost,
    Pulse,
    Reply,
    Show,
    Shown,
    Started,
    StateChange,
    Step,
)
from kernelet.engine.remote.watch import Watch
from kernelet.engine.sinks import Sinks
from kernelet.engine.stats import EngineStats, StatDispatcher, StatTotals
from kernelet.errors import EngineDeadError, ParameterError
from kernelet.executor.failures import revive
from kernelet.request.request import EngineRequest
from kernelet.request.status import FinishReason

logger = logging.getLogger(__name__)

STOP_SECONDS = 30.0
"""How long a stop waits for the step that is being computed; then the process is killed."""

MakeStats = Callable[[EnginePlan], StatDispatcher]


def no_loggers(plan: EnginePlan) -> StatDispatcher:
    """In frontends that get no statistics."""
    del plan
    return StatDispatcher([])


class RemoteClient(CoreClient):
    """Talks to an engine over sockets; with a launcher it also starts, restarts and stops it.

    One thread reads: it calls sinks and stat loggers.

    Args:
        place: Where the engine is met.
        index: Number of this frontend; 0 has the launcher and the stat loggers.
        options: How it is watched.
        launcher: Makes engines; None: somebody else does.
        make_stats: Makes the dispatcher of statistics, once the plan is known.

    Raises:
        KerneletError: what the engine raised at its start, or EngineDeadError if it ended without a word.
    """

    def __init__(
        self,
        place: MeetingPlace,
        index: int,
        options: RemoteOptions,
        launcher: Launcher | None = None,
        make_stats: MakeStats = no_loggers,
    ) -> None:
        self._place = place
        self._index = index
        self._numbers = itertools.count()
        self._calls: dict[int, Future[Any]] = {}
        self._sinks = Sinks(self.abort)
        self._sinks.close(EngineDeadError("the engine is starting"))
        self._totals = StatTotals()
        self._stats = StatDispatcher([])
        self._watch = Watch(options.limits)
        self._lost: list[FinishedRequest] = []
        self._stalled = False
        self._closed = threading.Lock()
        self._line = Line(place, index, options, launcher, self)
        try:
            self._started: Started = self._line.start()
            self._stats = make_stats(self._started.plan)
        except BaseException:
            self.shutdown()
            raise

    @property
    def id_prefix(self) -> str:
        return f"request-{self._index}." if self._index else "request-"

    @property
    def plan(self) -> EnginePlan:
        return self._started.plan

    @property
    def folder(self) -> str:
        """Where other frontends meet the engine."""
        return self._place.folder

    @property
    def started(self) -> Started:
        """What the engine said of itself at its start."""
        return self._started

    @property
    def pid(self) -> int | None:
        """Of the engine's process, if it is ours and there is one."""
        return self._line.pid

    def add(self, requests: Sequence[EngineRequest], sink: Sink) -> None:
        try:
            data = self._line.encode(Add(requests=list(requests)))
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ParameterError("request", f"holds something that cannot be sent to the engine ({error})") from error
        with self._line.lock:
            self._sinks.add(requests, sink)
            self._line.send(data)

    def abort(self, request_ids: Iterable[str], reason: FinishReason = FinishReason.ABORT) -> None:
        with self._line.lock:
            known = self._sinks.remove(request_ids)
            if known:
                self._line.send(self._line.encode(Abort(request_ids=known, reason=reason)))

    def stats(self) -> EngineStats:
        return self._totals.snapshot() if self._index == 0 else self._watch.last.totals

    def expositions(self) -> list[Exposition]:
        if self._index == 0:
            return self._stats.expositions()
        return [Exposition(content_type=kind, body=body) for kind, body in self._call("expositions")]

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
        health = self._watch.health()
        death = self._sinks.death
        if death is None or health.state == "stalled":
            return health
        return EngineHealth(state="starting" if self._line.restarting else "dead", detail=str(death), age=health.age)

    def shutdown(self) -> None:
        if self._closed.acquire(blocking=False):
            self._line.stop(STOP_SECONDS)
            self._stats.close()

    def _call(self, name: str, *arguments: Any) -> Any:
        number, future = next(self._numbers), Future[Any]()
        data = self._line.encode(Call(number=number, name=name, arguments=list(arguments)))
        with self._line.lock:
            self._sinks.check_alive()
            self._calls[number] = future
            self._line.send(data)
        return future.result()

    # --- on the reading thread -------------------------------------------------------------------

    def on_started(self, started: Started) -> None:
        """An engine takes requests."""
        self._watch.started(started.state)
        self._sinks.open()
        lost, self._lost = self._lost, []
        if lost:
            self._line.send(self._line.encode(Lost(finished=lost)))

    def on_pulse(self, pulse: Pulse) -> None:
        """A sign of life."""
        self._watch.heard(pulse)

    def on_message(self, message: FrontendMessage) -> None:
        """Anything that belongs to a request or a call."""
        match message:
            case Step(outputs=outputs, steps=steps, finished=finished):
                # first the statistics: whoever has the last token of a request finds it in them
                self._totals.add(steps, finished)
                self._stats.dispatch(steps, finished)
                self._sinks.deliver(outputs)
            case Reply(number=number, value=value, failure=failure):
                future = self._calls.pop(number, None)
                if future is not None and failure is not None:
                    future.set_exception(revive(failure))
                elif future is not None:
                    future.set_result(value)
            case StateChange(state=state):
                self._watch.changed(state)
            case Show(number=number):
                shown = [(one.content_type, one.body) for one in self._stats.expositions()]
                self._line.send(self._line.encode(Shown(number=number, expositions=shown)))

    def on_time(self) -> EngineHealth:
        """Time goes by: the engine's health. What waits for a stalled one fails, and what comes is refused."""
        health = self._watch.health()
        stalled = health.state == "stalled"
        if stalled and not self._stalled and self._sinks.death is None:
            self._stalled = True
            self._fail(EngineDeadError(health.detail))
        elif self._stalled and not stalled:
            self._stalled = False
            logger.warning("the engine shows signs of life again")
            self._lost.clear()  # it was told to abort them, and counts them
            self._sinks.open()
        return health

    def on_oversleep(self) -> None:
        """This process did not run for a while."""
        self._watch.forgive()

    def on_death(self, error: EngineDeadError) -> None:
        """There is no engine."""
        self._stalled = False
        self._watch.restart()
        self._fail(error)
        if self._index == 0:
            lost, self._lost = self._lost, []
            self._totals.add([], lost)
            self._stats.dispatch([], lost)

    def _fail(self, error: EngineDeadError) -> None:
        with self._line.lock:
            self._sinks.close(error)
            names = self._sinks.names()
            self._lost += self._sinks.lost()
            self._line.send(self._line.encode(Abort(request_ids=names, reason=FinishReason.ABORT)))
            calls, self._calls = list(self._calls.values()), {}
        self._sinks.fail(error)
        for future in calls:
            future.set_exception(EngineDeadError(str(error)))
        if names:
            logger.error("%s; %d requests failed", error, len(names))
