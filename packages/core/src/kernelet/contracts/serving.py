"""Serving: what holds an engine in a frontend, the server that answers on a socket, and applications beside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from kernelet.contracts.offer import Offer, Settings
from kernelet.errors import KerneletError, RequestError

if TYPE_CHECKING:
    import socket

    from kernelet.config import EngineConfig
    from kernelet.contracts.executor import EnginePlan
    from kernelet.contracts.pooling import PoolingParams, PoolingRequestOutput
    from kernelet.contracts.sampling import SamplingParams
    from kernelet.engine.prompts import ParsedPrompt, Prompt
    from kernelet.engine.stats import EngineStats
    from kernelet.request.outputs import RequestOutput
    from kernelet.text.tokenizer import Tokenizer

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An ASGI 3 application: https://asgi.readthedocs.io/en/latest/specs/main.html"""


class EngineHealth(msgspec.Struct, frozen=True, kw_only=True):
    """How an engine does.

    Attributes:
        state: ``"starting"``, ``"ready"``, ``"stalled"``, ``"dead"``, ``"draining"`` or ``"asleep"``.
        detail: A sentence for people; empty while all is well.
        age: Seconds since the engine last showed progress, or that it is idle.
    """

    state: str
    detail: str = ""
    age: float = 0.0

    @property
    def ready(self) -> bool:
        """Whether new requests should be sent here."""
        return self.state == "ready"


class Exposition(msgspec.Struct, frozen=True, kw_only=True):
    """Metrics as a stat logger shows them to whoever scrapes.

    Attributes:
        content_type: Value of the header ``Content-Type``.
        body: The text, encoded.
    """

    content_type: str
    body: bytes


@dataclass(frozen=True, kw_only=True)
class ParsersInfo:
    """What parses the answers to chats.

    Attributes:
        tool: Name of the parser of tool calls; None: calls stay text.
        reasoning: Name of the parser of reasoning; None: it stays text.
        auto_tool_choice: Whether clients may leave it to the model to call their tools.
    """

    tool: str | None = None
    reasoning: str | None = None
    auto_tool_choice: bool = False


class EngineRequests(ABC):
    """What requests need of an engine."""

    @property
    @abstractmethod
    def config(self) -> EngineConfig:
        """The engine's configuration."""

    @property
    @abstractmethod
    def plan(self) -> EnginePlan:
        """How every layer is computed."""

    @property
    def supported_tasks(self) -> tuple[str, ...]:
        """What can be asked for: ``"generate"``, ``"embed"``, and ``"plugin"`` where an IO processor runs."""
        return ("generate",)

    @property
    def parsers(self) -> ParsersInfo:
        """What parses the answers to chats. Since serving 1.1."""
        return ParsersInfo()

    @abstractmethod
    def get_tokenizer(self) -> Tokenizer | None:
        """The model's tokenizer: ``encode``, ``decode``, ``eos_token_ids``; None where the model has none."""

    @abstractmethod
    async def chat_prompt(self, messages: Sequence[Mapping[str, Any]], **template: Any) -> ParsedPrompt:
        """The prompt that the chat template makes of messages.

        Args:
            messages: Objects with ``role`` and ``content``.
            template: As for ``LLM.chat``. A template that comes with the request is rendered in a helper with a
                deadline. ``tools`` and ``tool_choice`` also say how the answers are parsed.

        Raises:
            ChatTemplateError: the model has no template, or it refused the messages.
            RequestError: the template took too long or too much memory.
        """

    @abstractmethod
    def generate(
        self,
        prompt: Prompt | ParsedPrompt,
        sampling_params: SamplingParams | None = None,
        request_id: str | None = None,
        *,
        priority: int = 0,
    ) -> AsyncGenerator[RequestOutput, None]:
        """Runs one request. Each item holds everything so far; the last one is ``finished``.

        Leaving the iteration early, by ``aclose`` or by cancelling the task, aborts the request.

        Raises:
            RequestError: at the first item if the request is wrong, later if it failed by itself.
            EngineDeadError: the engine stopped.
        """

    async def encode(
        self,
        prompt: Prompt | Mapping[str, Any] | ParsedPrompt,
        pooling_params: PoolingParams | None = None,
        request_id: str | None = None,
        *,
        priority: int = 0,
    ) -> PoolingRequestOutput[Any]:
        """Pools the hidden states of one prompt. Cancelling the task aborts the request.

        ``{"data": ...}`` is given to the engine's IO processor; what that made of it is ``outputs`` of the result,
        which is a ``PoolingOutput`` otherwise.

        Raises:
            RequestError: the request is wrong, or failed by itself; or the model does not pool.
            EngineDeadError: the engine stopped.
        """
        raise RequestError(f"{self.config.model.model} gives no embeddings: it can {', '.join(self.supported_tasks)}")

    @abstractmethod
    async def abort(self, request_id: str) -> None:
        """Ends a request, whose iteration then ends with finish reason "abort"; unknown and ended ones are skipped."""


class EngineControl(ABC):
    """What operators need of an engine."""

    @abstractmethod
    def health(self) -> EngineHealth:
        """How the engine does. Never waits for it: neither its queue nor a step is asked."""

    @abstractmethod
    async def check_health(self) -> None:
        """Raises EngineDeadError once the engine stopped."""

    @abstractmethod
    async def stats(self) -> EngineStats:
        """Totals since the start; never waits for the engine."""

    async def metrics(self) -> list[Exposition]:
        """What stat loggers show, one entry each; the same from every frontend."""
        return []

    @abstractmethod
    def info(self) -> Mapping[str, Any]:
        """Plugins, plan, digest of the manifest and versions: plain values, as ``/plugins`` shows them."""

    @abstractmethod
    async def reset_prefix_cache(self, *, reset_connector: bool = False) -> None:
        """Forgets cached prefixes; requests that run keep their own blocks, which are not shared any more.

        Args:
            reset_connector: KV connectors forget what they keep for this engine too. Since serving 1.2.

        Raises:
            PluginError: none runs, or one of them could not.
        """

    @abstractmethod
    async def control(self, plugin: str, name: str, payload: bytes) -> bytes:
        """Calls what the engine selected of a plugin, in its own process and in every rank; see ``Control``.

        Returns:
            The answer of the engine's object where there is one, else of the first rank's.

        Raises:
            PluginError: the plugin is not active, or nothing of it takes calls.
            Exception: what one of the objects raised.
        """

    @property
    def is_sleeping(self) -> bool:
        """Whether ``sleep`` was called and ``wake_up`` was not."""
        return False

    async def sleep(self, level: int = 1) -> None:
        """Gives up the device's memory; requests wait.

        Raises:
            KerneletError: the platform's worker cannot.
        """
        raise KerneletError(f"sleep level {level}: this engine cannot sleep")

    async def wake_up(self) -> None:
        """Takes the memory back; nothing where it is there."""

    @abstractmethod
    async def drain(self) -> None:
        """Refuses new requests from now on, and returns when those that run have ended."""

    @abstractmethod
    async def shutdown(self) -> None:
        """Stops the engine, or, in a frontend that did not start it, lets go of it. May be called twice."""


class EngineClient(EngineRequests, EngineControl):
    """An engine, in this process or another: what servers, endpoints and scripts hold. For asyncio."""


@dataclass(frozen=True, kw_only=True)
class MountedEndpoint:
    """An endpoint that runs: the server hands it every path that begins with its prefix.

    Attributes:
        name: The offer's name.
        prefix: ``"/console"``; the server has no path of its own that begins so.
        app: Called with the whole path in ``scope["path"]`` and the prefix at the end of ``scope["root_path"]``. What
            it raises before it answered has become a 500.
    """

    name: str
    prefix: str
    app: ASGIApp


@dataclass(frozen=True, kw_only=True)
class ServerContext:
    """What a server is given in each frontend.

    Attributes:
        engine: The engine.
        served_model_names: Names under which clients ask for the model; the first one is shown in answers.
        endpoints: What is mounted beside the server's own paths.
        io_processors: By name; the first is the default.
        frontend_index: Number of this frontend among those that share the port, from 0.
        num_frontends: How many there are. Limits that are counted hold for each alone.
    """

    engine: EngineClient
    served_model_names: tuple[str, ...]
    endpoints: tuple[MountedEndpoint, ...] = ()
    io_processors: Mapping[str, Any] = field(default_factory=dict)
    frontend_index: int = 0
    num_frontends: int = 1


@dataclass(frozen=True, kw_only=True)
class ServerOffer(Offer):
    """A server. ``target`` is a ``Server`` class; one is selected by ``--server``.

    Attributes:
        flags: Flags of ``kernelet serve`` without dashes, each with the key of the plugin's own options that it sets:
            ``{"api-key": "api_key"}``. Type and help come from the schema.
        paths: First parts of the paths that the server answers itself: ``("v1", "health")``. No endpoint gets them.
    """

    flags: Mapping[str, str] = field(default_factory=dict)
    paths: tuple[str, ...] = ()


class Server(ABC):
    """Answers requests on sockets, in each frontend. Made before the event loop of ``run``; binds nothing itself."""

    def __init__(self, settings: Settings, context: ServerContext) -> None:
        """The engine is ready.

        Args:
            settings: The plugin's options.
            context: The engine and what it is served as.

        Raises:
            ConfigError: options that do not go together; the start ends with it.
        """
        self.settings = settings
        self.context = context

    @classmethod
    def check_settings(cls, settings: Settings) -> None:
        """Refuses options that cannot work (a missing file, two that exclude each other), before the model loads.

        Raises:
            ConfigError: saying what to do.
        """

    @abstractmethod
    async def run(self, sockets: Sequence[socket.socket]) -> None:
        """Serves on sockets that are bound, until ``stop``; then closes them, finishes what is open, and returns.

        Other processes accept from the same sockets: they are closed, never shut down; clients are refused once the
        last process has closed them. Signals are not the server's: it installs no handler.
        """

    @abstractmethod
    def stop(self) -> None:
        """Refuses new work and finishes what runs; ``run`` then returns. From any thread; may be called again."""

    @abstractmethod
    def stop_now(self) -> None:
        """Closes every connection; ``run`` then returns soon. From any thread; may be called again.

        What runs in the engine has just failed with EngineDeadError: a server gives its clients a moment for it.
        """


@dataclass(frozen=True, kw_only=True)
class EndpointOffer(Offer):
    """An application beside the server; opt-in. ``target`` is an ``Endpoint`` class.

    Attributes:
        prefix: Where it lives: ``"/console"``, one part.
        required_tasks: What the model must be able to do: ``("generate",)``.
    """

    prefix: str
    required_tasks: tuple[str, ...] = ()


class Endpoint(ABC):
    """An ASGI application that holds an engine, in each frontend."""

    def __init__(self, settings: Settings, engine: EngineClient) -> None:
        """The engine is ready.

        Args:
            settings: The plugin's options.
            engine: The engine; it is not the endpoint's to shut down.
        """
        self.settings = settings
        self.engine = engine

    @property
    @abstractmethod
    def app(self) -> ASGIApp:
        """The application. It sees scopes ``http`` and ``websocket``, no ``lifespan``.

        ``scope["path"]`` is the whole path; without ``scope["root_path"]`` at its begin, it is the endpoint's own.
        """

    async def startup(self) -> None:
        """Once, before the first request, in the loop that serves; what it raises stops the start."""

    async def shutdown(self) -> None:
        """Once, after the last request."""
