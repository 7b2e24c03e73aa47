"""How an engine does, judged by the signs of life that it sends."""

from __future__ import annotations

import time
from collections.abc import Callable

from kernelet.config import HealthConfig
from kernelet.contracts.serving import EngineHealth
from kernelet.engine.driver import DETAILS, stalled_step
from kernelet.engine.remote.messages import Pulse


class Watch:
    """Notes signs of life; asked from any thread."""

    def __init__(self, limits: HealthConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._state = "starting"
        self._heard: tuple[Pulse, float] = (Pulse(), clock())

    @property
    def last(self) -> Pulse:
        """The last sign of life."""
        return self._heard[0]

    def restart(self) -> None:
        """Another engine: nothing was heard of it."""
        self._state, self._heard = "starting", (Pulse(), self._clock())

    def started(self, state: str = "ready") -> None:
        """The engine takes requests."""
        self._state, self._heard = state, (Pulse(), self._clock())

    def changed(self, state: str) -> None:
        """The engine says how it is from now on."""
        self._state = state

    def heard(self, pulse: Pulse) -> None:
        """A sign of life came."""
        self._heard = (pulse, self._clock())

    def forgive(self) -> None:
        """This process itself did not run: the silence says nothing."""
        self._heard = (self._heard[0], self._clock())

    def health(self) -> EngineHealth:
        """As of now."""
        state, (pulse, at) = self._state, self._heard
        silence = max(0.0, self._clock() - at)
        age = silence + pulse.age
        if state == "starting":
            return EngineHealth(state="starting", detail="the engine is starting", age=age)
        if silence > self._limits.silence_timeout:
            detail = f"the engine is stalled: its process gave no sign of life for {silence:.0f} s"
            return EngineHealth(state="stalled", detail=f"{detail} (--engine-silence-timeout)", age=age)
        if pulse.busy and age > self._limits.step_timeout:
            return EngineHealth(state="stalled", detail=stalled_step(age), age=age)
        return EngineHealth(state=state, detail=DETAILS.get(state, ""), age=age)
