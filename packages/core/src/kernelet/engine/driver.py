"""A core with its manners, for one thread: requests that it refuses, calls between steps, sleep and drain."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.stats import FinishedRequest, StepStats
from kernelet.engine.controls import no_controls
from kernelet.engine.stats import StatDispatcher
from kernelet.errors import EngineDeadError, KerneletError, ParameterError, PluginError
from kernelet.request.outputs import EngineOutput
from kernelet.request.request import EngineRequest
from kernelet.request.status import FinishReason

logger = logging.getLogger(__name__)

Handler = Callable[[str, str, bytes], bytes]
"""Answers ``control``: (plugin, name, payload) -> bytes."""

Answer = Callable[[Any, Exception | None], None]
"""Takes the value of a call, or what it raised."""

DRAINING = "the engine is draining and takes no new requests"

DETAILS = MappingProxyType({"draining": DRAINING, "asleep": "the engine sleeps: requests wait until it is woken up"})
"""What people are told of a state."""


def stalled_step(seconds: float) -> str:
    """What people are told of a step that takes too long."""
    return f"the engine is stalled: the step that it computes has taken {seconds:.0f} s (--engine-step-timeout)"


class Core(Protocol):
    """What is driven; ``kernelet.engine.core.EngineCore`` is one."""

    def add_request(self, request: EngineRequest) -> None: ...
    def abort(self, request_ids: Iterable[str], reason: FinishReason = ...) -> list[EngineOutput]: ...
    def step(self) -> list[EngineOutput]: ...
    def has_unfinished(self) -> bool: ...
    def can_step(self) -> bool: ...
    def take_step_stats(self) -> list[StepStats]: ...
    def take_finished(self) -> list[FinishedRequest]: ...
    def reset_prefix_cache(self, *, reset_connector: bool = ...) -> None: ...


def no_sleep(level: int) -> None:
    """The ``RunningCore.sleep`` of workers that keep what they have."""
    if level > 1:
        raise PluginError(
            f"sleep level {level}: the platform's worker cannot give up its weights: use level 1, or stop the engine"
        )


@dataclass(frozen=True, kw_only=True)
class RunningCore:
    """A core and what belongs to it.

    Attributes:
        close: Stops the executor; called once, on the engine's thread.
        sleep: Gives up memory of the workers; raises if they cannot.
        wake_up: Takes it back.
        check_health: Raises EngineDeadError if a worker is gone.
        control: Calls a plugin's objects.
        publish: Tells others what happened to the prefix cache; after each step and call.
        on_news: Takes what is to be called, on some thread, when the core has something to do without having been told.
    """

    core: Core
    plan: EnginePlan
    close: Callable[[], None]
    stats: StatDispatcher
    sleep: Callable[[int], None] = no_sleep
    wake_up: Callable[[], None] = lambda: None
    check_health: Callable[[], None] = lambda: None
    control: Handler = no_controls
    publish: Callable[[], None] = lambda: None
    on_news: Callable[[Callable[[], None]], None] = lambda _: None


class CoreDriver:
    """Every method is for the engine's thread. After each, ``take_outputs`` and ``take_stats`` have what came of it."""

    def __init__(self, running: RunningCore) -> None:
        self._running = running
        self._core = running.core
        self._outputs: list[EngineOutput] = []
        self._held: dict[str, EngineRequest] = {}
        self._when_idle: list[tuple[Callable[[], None], Answer]] = []
        self._asleep = self._falling_asleep = self._draining = False

    @property
    def state(self) -> str:
        """``"ready"``, ``"draining"`` or ``"asleep"``."""
        return "asleep" if self._asleep else "draining" if self._draining else "ready"

    @property
    def runnable(self) -> bool:
        """Whether ``step`` has something to do."""
        return not self._asleep and self._core.can_step()

    def add(self, request: EngineRequest) -> None:
        """Takes up a choice, or ends it with an error; while the engine sleeps it waits."""
        if self._draining:
            self._refuse(request, DRAINING)
        elif (self._asleep or self._falling_asleep) and request.request_id in self._held:
            self._refuse(request, f"request_id: {request.request_id!r} is in use: choose another")
        elif self._asleep or self._falling_asleep:
            self._held[request.request_id] = request
        else:
            self._add(request)

    def abort(self, request_ids: Iterable[str], reason: FinishReason = FinishReason.ABORT) -> None:
        """Ends choices; unknown ones are skipped."""
        self._core.abort([name for name in request_ids if self._held.pop(name, None) is None], reason)
        self._settle()

    def step(self) -> None:
        """One step of the core.

        Raises:
            EngineDeadError: the engine has failed.
        """
        self._outputs += self._core.step()
        self._settle()
        self._running.publish()

    def call(self, name: str, arguments: Sequence[Any], answer: Answer) -> None:
        """Does what ``CoreClient``'s method of this name promises; ``answer`` may be called later, on this thread."""
        if name == "sleep":
            self._begin_to_sleep(arguments[0] if arguments else None, answer)
        elif name == "drain":
            self._drain()
            self._when_idle.append((lambda: None, answer))
        elif name == "wake_up":
            self._answer(self._wake_up, answer)
        elif name == "reset_prefix_cache":
            self._answer(partial(self._reset_prefix_cache, *arguments), answer)
        elif name == "control":
            self._answer(lambda: self._running.control(*arguments), answer)
        else:
            answer(None, PluginError(f"the engine takes no call {name!r}"))
        self._settle()
        self._running.publish()

    def check_health(self) -> None:
        """For times without a step.

        Raises:
            EngineDeadError: a worker is gone.
        """
        self._running.check_health()

    def take_outputs(self) -> list[EngineOutput]:
        """What is new of requests, since the last call."""
        taken, self._outputs = self._outputs, []
        return taken

    def take_stats(self) -> tuple[list[StepStats], list[FinishedRequest]]:
        """Records since the last call."""
        return self._core.take_step_stats(), self._core.take_finished()

    def give_up(self, error: EngineDeadError) -> None:
        """The engine ends: whoever waits for an answer is told."""
        waiting, self._when_idle = self._when_idle, []
        for _, answer in waiting:
            answer(None, error)

    def _settle(self) -> None:
        """Answers who waited for the engine to have nothing to do."""
        while self._when_idle and not self._core.has_unfinished():
            self._answer(*self._when_idle.pop(0))

    def _answer(self, function: Callable[[], Any], answer: Answer) -> None:
        try:
            value = function()
        except EngineDeadError as error:
            answer(None, error)
            self.check_health()
        except Exception as error:  # noqa: BLE001  it belongs to the caller
            answer(None, error)
        else:
            answer(value, None)

    def _add(self, request: EngineRequest) -> None:
        try:
            self._core.add_request(request)
        except KerneletError as error:
            self._refuse(request, str(error), error.parameter if isinstance(error, ParameterError) else None)
        except Exception as error:
            logger.exception("request %s was not taken", request.request_id)
            self._refuse(request, f"{type(error).__name__}: {error}")

    def _refuse(self, request: EngineRequest, message: str, parameter: str | None = None) -> None:
        self._outputs.append(
            EngineOutput(
                request_id=request.request_id,
                token_ids=[],
                finish_reason="error",
                error=message,
                error_parameter=parameter,
            )
        )

    def _drain(self) -> None:
        self._draining = True
        held, self._held = self._held, {}
        for request in held.values():
            self._refuse(request, DRAINING)

    def _begin_to_sleep(self, level: object, answer: Answer) -> None:
        if not isinstance(level, int) or level not in {1, 2}:
            answer(None, ParameterError("level", f"got {level}, expected 1 (drop the cache) or 2 (drop weights too)"))
            return
        self._falling_asleep = not self._asleep
        self._when_idle.append((lambda: self._sleep(level), answer))

    def _reset_prefix_cache(self, reset_connector: bool = False) -> None:
        if reset_connector and self._asleep:
            raise PluginError("the engine sleeps, and its KV connectors have ended: wake it up first")
        self._core.reset_prefix_cache(reset_connector=reset_connector)

    def _sleep(self, level: int) -> None:
        if self._asleep:
            return
        if not self._falling_asleep:
            raise EngineDeadError("the engine was woken up before it slept")
        self._falling_asleep = False
        try:
            self._running.sleep(level)
            self._core.reset_prefix_cache()
            self._asleep = True
        finally:
            if not self._asleep:
                self._release()

    def _wake_up(self) -> None:
        if self._asleep:
            self._running.wake_up()
        self._asleep = self._falling_asleep = self._draining = False
        self._release()

    def _release(self) -> None:
        held, self._held = self._held, {}
        for request in held.values():
            self._add(request)
