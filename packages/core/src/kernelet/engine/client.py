"""What servers, endpoints and scripts hold of an engine: prompts in, texts out, from asyncio."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator

from kernelet.config import EngineConfig
from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.sampling import SamplingParams
from kernelet.engine.prompts import Prompt
from kernelet.engine.stats import EngineStats
from kernelet.request.outputs import RequestOutput


class EngineClient(ABC):
    """An engine, in this process or another."""

    @property
    @abstractmethod
    def config(self) -> EngineConfig:
        """The engine's configuration."""

    @property
    @abstractmethod
    def plan(self) -> EnginePlan:
        """How every layer is computed."""

    @abstractmethod
    def generate(
        self, prompt: Prompt, sampling_params: SamplingParams, request_id: str | None = None, *, priority: int = 0
    ) -> AsyncGenerator[RequestOutput, None]:
        """Runs one request. Each item holds everything so far; the last one is ``finished``.

        Leaving the iteration early, by ``aclose`` or by cancelling the task, aborts the request.

        Raises:
            RequestError: at the first item if the request is wrong, later if it failed by itself.
            EngineDeadError: the engine stopped.
        """

    @abstractmethod
    async def abort(self, request_id: str) -> None:
        """Ends a request, whose iteration then ends with finish reason "abort"; unknown and ended ones are skipped."""

    @abstractmethod
    async def stats(self) -> EngineStats:
        """Totals since the start; never waits for the engine."""

    @abstractmethod
    async def reset_prefix_cache(self) -> None:
        """Forgets cached prefixes."""

    @abstractmethod
    async def control(self, plugin: str, name: str, payload: bytes) -> bytes:
        """A typed call to a selected object of a plugin.

        Raises:
            PluginError: the plugin is not active or takes no such call.
        """

    @abstractmethod
    async def check_health(self) -> None:
        """Raises EngineDeadError once the engine stopped."""

    @abstractmethod
    async def shutdown(self) -> None:
        """Stops the engine. May be called twice."""
