"""What a frontend asks of an engine's core, wherever the core runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

from kernelet.contracts.executor import EnginePlan
from kernelet.engine.stats import EngineStats
from kernelet.errors import EngineDeadError
from kernelet.request.outputs import EngineOutput
from kernelet.request.request import EngineRequest
from kernelet.request.status import FinishReason

Sink = Callable[[Sequence[EngineOutput] | EngineDeadError], None]
"""Takes a step's outputs of its requests, or the error that ended the engine.

Called on the engine's thread: it must hand over and return at once, and not raise."""


class CoreClient(ABC):
    """Plain calls that may come from any thread; outputs come to sinks."""

    @property
    @abstractmethod
    def plan(self) -> EnginePlan:
        """How every layer is computed."""

    @abstractmethod
    def add(self, requests: Sequence[EngineRequest], sink: Sink) -> None:
        """Sends choices to the engine. One that it refuses ends with an error in its output.

        Raises:
            ParameterError: an id is in use.
            EngineDeadError: the engine stopped.
        """

    @abstractmethod
    def abort(self, request_ids: Iterable[str], reason: FinishReason = FinishReason.ABORT) -> None:
        """Ends choices; their sinks hear nothing more. Ids that are unknown or have ended are skipped."""

    @abstractmethod
    def stats(self) -> EngineStats:
        """Totals since the start and the last step; never waits for the engine."""

    @abstractmethod
    def reset_prefix_cache(self) -> None:
        """Forgets cached prefixes."""

    @abstractmethod
    def control(self, plugin: str, name: str, payload: bytes) -> bytes:
        """Calls a selected object of a plugin in the engine.

        Raises:
            PluginError: the plugin is not active or takes no such call.
        """

    @abstractmethod
    def check_health(self) -> None:
        """Raises EngineDeadError once the engine stopped."""

    @abstractmethod
    def shutdown(self) -> None:
        """Stops the engine; requests that still run end with EngineDeadError. May be called twice."""
