"""What a frontend asks of an engine's core, wherever the core runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.serving import EngineHealth, Exposition
from kernelet.engine.stats import EngineStats
from kernelet.errors import EngineDeadError
from kernelet.request.outputs import EngineOutput
from kernelet.request.request import EngineRequest
from kernelet.request.status import FinishReason

Sink = Callable[[Sequence[EngineOutput] | EngineDeadError], None]
"""Takes a step's outputs of its requests, or the error that ended the engine.

Called on the engine's thread, or the one that reads from the engine: it must hand over and return at once, and not
raise. Requests that are added with the same sink come in one call a step."""


class CoreClient(ABC):
    """Plain calls that may come from any thread; outputs come to sinks."""

    @property
    def id_prefix(self) -> str:
        """How names of requests begin that users gave no name: no two frontends of an engine make the same."""
        return "request-"

    @property
    @abstractmethod
    def plan(self) -> EnginePlan:
        """How every layer is computed."""

    @abstractmethod
    def add(self, requests: Sequence[EngineRequest], sink: Sink) -> None:
        """Sends choices to the engine. One that it refuses ends with an error in its output.

        Raises:
            ParameterError: an id is in use, or a request cannot be sent.
            EngineDeadError: the engine stopped, or is stalled.
        """

    @abstractmethod
    def abort(self, request_ids: Iterable[str], reason: FinishReason = FinishReason.ABORT) -> None:
        """Ends choices; their sinks hear nothing more. Ids that are unknown or have ended are skipped."""

    @abstractmethod
    def stats(self) -> EngineStats:
        """Totals since the start and the last step; never waits for the engine."""

    @abstractmethod
    def expositions(self) -> list[Exposition]:
        """What the stat loggers show, wherever they run."""

    @abstractmethod
    def reset_prefix_cache(self, *, reset_connector: bool = False) -> None:
        """``EngineClient.reset_prefix_cache``."""

    @abstractmethod
    def control(self, plugin: str, name: str, payload: bytes) -> bytes:
        """``EngineClient.control``.

        Raises:
            PluginError: the plugin is not active, or nothing of it takes calls.
        """

    @abstractmethod
    def sleep(self, level: int) -> None:
        """Waits for what runs, drops the cache, at level 2 the weights too, and lets later requests wait.

        Raises:
            ParameterError: there is no such level.
            PluginError: the platform's worker cannot.
        """

    @abstractmethod
    def wake_up(self) -> None:
        """Ends sleep and drain."""

    @abstractmethod
    def drain(self) -> None:
        """Refuses new requests, and returns when those that run have ended."""

    @abstractmethod
    def health(self) -> EngineHealth:
        """How the engine does; never waits for it."""

    def check_health(self) -> None:
        """Raises EngineDeadError if the engine is dead or stalled."""
        health = self.health()
        if health.state in {"dead", "stalled"}:
            raise EngineDeadError(health.detail)

    @abstractmethod
    def shutdown(self) -> None:
        """Stops the engine; requests that still run end with EngineDeadError. May be called twice."""
