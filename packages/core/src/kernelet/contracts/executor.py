"""Steps, workers, executors, communicators and scheduling policies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from kernelet.contracts.cache import CacheConfigPlan, FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.kv_start import KVStart, KVStarted
from kernelet.contracts.offer import Offer, Settings
from kernelet.contracts.steps import (
    BlockCopy,
    NewRequest,
    SampledRequest,
    SamplePlan,
    ScheduledRequest,
    StepPlan,
    StepResult,
)
from kernelet.errors import PluginError

if TYPE_CHECKING:
    from kernelet.config import EngineConfig
    from kernelet.contracts.platform import PlatformChoice
    from kernelet.contracts.plugins import PluginView

__all__ = [
    "BlockCopy",
    "Communicator",
    "CommunicatorOffer",
    "Control",
    "EnginePlan",
    "Executor",
    "ExecutorOffer",
    "LayerPlan",
    "NewRequest",
    "Orderable",
    "SamplePlan",
    "SampledRequest",
    "ScheduledRequest",
    "SchedulerOffer",
    "SchedulingPolicy",
    "Sleep",
    "StepPlan",
    "StepResult",
    "TransfersKV",
    "Worker",
    "WorkerContext",
]

# --- the plan of the engine ----------------------------------------------------------------------


class LayerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How one layer is computed: ``choice`` is the offer, ``detail`` its scheme or spec, ``refused`` why not others."""

    name: str
    role: str
    choice: str
    detail: str = ""
    refused: dict[str, str] = {}


class EnginePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan: made by rank 0 once the model is known, confirmed by all; its digest is the engine's identity.

    Attributes:
        weights_digest: Names the content of the checkpoint, where KV connectors run (``weights_digest`` of
            ``kernelet.loading``); else empty. Since executor 1.4.
    """

    architecture: str
    row: str
    dtype: str
    platform: str
    layers: tuple[LayerPlan, ...]
    cache: CacheConfigPlan | None = None
    max_model_len: int = 0
    weight_bytes: int = 0
    quantization: str = ""
    kv_cache_dtype: str = "auto"
    weights_digest: str = ""


# --- workers and executors -----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class WorkerContext:
    """What a worker is made from.

    Attributes:
        local_size: Workers of the engine on this machine. Since executor 1.2.
        address: Where the ranks meet, see ``Communicator``; empty for one rank. Since executor 1.2.
    """

    config: EngineConfig
    platform: PlatformChoice
    plugins: PluginView
    rank: int = 0
    local_rank: int = 0
    world_size: int = 1
    local_size: int = 1
    address: str = ""


class Worker(ABC):
    """One rank. Methods are called in the order in which they stand here."""

    @abstractmethod
    def __init__(self, context: WorkerContext) -> None: ...

    @abstractmethod
    def init_device(self) -> None:
        """Takes the device and joins the other ranks."""

    @abstractmethod
    def load_model(self) -> None:
        """Builds the model and loads its weights, with a progress bar."""

    @abstractmethod
    def get_kv_cache_spec(self) -> dict[str, FullAttentionSpec | SlidingWindowSpec]:
        """What each layer keeps, by layer name."""

    @abstractmethod
    def determine_available_memory(self) -> int:
        """Bytes left for the cache once weights and the largest step's activations are counted."""

    @abstractmethod
    def initialize_from_config(self, cache: CacheConfigPlan) -> None:
        """Allocates the cache."""

    @abstractmethod
    def compile_or_warm_up_model(self) -> None:
        """Runs what must be compiled or captured before the first request."""

    @abstractmethod
    def get_plan(self) -> EnginePlan:
        """How every layer is computed."""

    @abstractmethod
    def execute_model(self, plan: StepPlan) -> None:
        """Starts a step; need not wait for it. A request that fails by itself is reported by ``sample``."""

    @abstractmethod
    def sample(self, plan: SamplePlan) -> StepResult:
        """Finishes the oldest step in flight, which must be ``plan.step``."""

    def control(self, plugin: str, name: str, payload: bytes) -> Sequence[bytes]:
        """Hands a call to what this rank made of a plugin's offers, see ``Control``, between two steps.

        Since executor 1.2.

        Returns:
            An answer for each object that was called; empty: nothing of the plugin takes calls here.
        """
        return ()

    def shutdown(self) -> None:
        """Releases everything."""


class Control(ABC):
    """Mixin of what a plugin offers and an engine selected, where it answers ``EngineClient.control``.

    A scheduling or eviction policy is called in the engine's process, a logits processor in every rank; a ``Worker``
    of a platform has ``control`` itself. Since executor 1.2.
    """

    @abstractmethod
    def control(self, name: str, payload: bytes) -> bytes:
        """Answers one call, between two steps and on the thread that uses the object otherwise.

        Raises:
            ParameterError: it takes no such call, or not this payload. Whatever it raises, its caller gets; the engine
                goes on.
        """


class Sleep(ABC):
    """Mixin of a ``Worker`` that can give up its memory and take it back. Since executor 1.2."""

    @abstractmethod
    def sleep(self, level: int) -> None:
        """Between two steps, when no request is held: 1 gives up the cache's memory, 2 the weights' too.

        At level 1, weights may wait in memory of another kind.
        """

    @abstractmethod
    def wake_up(self) -> None:
        """Takes back what was given up: weights are as they were, the cache is empty."""


class TransfersKV(ABC):
    """Mixin of a ``Worker`` that runs the worker sides of KV connectors. Since executor 1.4."""

    @abstractmethod
    def start_kv_transfer(self, start: KVStart) -> KVStarted:
        """Makes this rank's side of the connectors of ``EngineConfig.kv_transfer``; after ``get_plan``, before steps.

        Each step's plan has a ``KVPlan`` in its ``extensions`` from then on, by name of the connector's offer, and its
        result a ``KVReport``. ``sleep`` ends the sides, and this is called again after each ``wake_up``.
        """


@dataclass(frozen=True, kw_only=True)
class ExecutorOffer(Offer):
    """A way to launch workers. ``target`` is an ``Executor`` class.

    Attributes:
        max_ranks: Ranks that it launches at most; 0: any number. It is not chosen by itself for more. Executor 1.2.
    """

    max_ranks: int = 0


class Executor(ABC):
    """Launches workers and carries plans to them; owns the transport."""

    @abstractmethod
    def __init__(self, config: EngineConfig, platform: PlatformChoice, plugins: PluginView) -> None: ...

    @abstractmethod
    def start(self) -> EnginePlan:
        """Launches workers, loads the model, sizes and allocates the cache, warms up. The plan is equal on all ranks.

        Raises:
            InsufficientMemoryError: with the largest context that fits.
        """

    def start_kv_transfer(self, start: KVStart) -> Sequence[KVStarted]:
        """``TransfersKV.start_kv_transfer`` of every rank: their answers, by rank. Since executor 1.4.

        Raises:
            PluginError: the executor cannot ask its workers, or one is no ``TransfersKV``.
        """
        raise PluginError(
            f"{type(self).__name__} serves no KV connectors: leave --kv-connector out, or name another executor with "
            "--distributed-executor-backend"
        )

    @abstractmethod
    def execute_model(self, plan: StepPlan) -> None:
        """Sends a step to every rank; does not block."""

    @abstractmethod
    def sample(self, plan: SamplePlan) -> StepResult:
        """Waits for the oldest step in flight."""

    @abstractmethod
    def check_health(self) -> None:
        """Raises EngineDeadError if a worker is gone."""

    @abstractmethod
    def shutdown(self) -> None:
        """Stops the workers. May be called twice."""

    def sleep(self, level: int) -> None:
        """Lets the workers give up memory, when no request is held: 1 that of the cache if they can, 2 the weights too.

        Since executor 1.2.

        Raises:
            PluginError: level 2, and a worker is no ``Sleep``.
        """
        if level > 1:
            raise PluginError(
                f"sleep level {level}: the workers of {type(self).__name__} cannot give up their weights: use level 1, "
                "or stop the engine"
            )

    def wake_up(self) -> None:
        """Takes back what was given up. Since executor 1.2."""

    def control(self, plugin: str, name: str, payload: bytes) -> Sequence[bytes]:
        """``Worker.control`` of every rank: all answers, in the order of ranks. Since executor 1.2."""
        return ()


@dataclass(frozen=True, kw_only=True)
class CommunicatorOffer(Offer):
    """Collectives between ranks. ``target`` is a ``Communicator`` class."""


class Communicator(ABC):
    """Collectives over one group of ranks; tensors in, tensors out; every rank calls with equal shapes."""

    @abstractmethod
    def __init__(self, settings: Settings, rank: int, world_size: int, address: str) -> None:
        """Joins the group, once every rank has come.

        Args:
            settings: The plugin's options.
            rank: This rank, from 0.
            world_size: Number of ranks.
            address: ``tcp://HOST:PORT``, the same on every rank; nobody else listens there, rank 0 may.
        """

    @abstractmethod
    def all_reduce(self, tensor: Any) -> Any:
        """Sum over ranks, in rank order."""

    @abstractmethod
    def all_gather(self, tensor: Any, axis: int = -1) -> Any:
        """Concatenation over ranks along an axis."""

    @abstractmethod
    def reduce_scatter(self, tensor: Any, axis: int = -1) -> Any:
        """This rank's slice of the sum."""

    @abstractmethod
    def broadcast(self, tensor: Any, source: int = 0) -> Any:
        """The source rank's tensor."""

    @abstractmethod
    def send(self, tensor: Any, destination: int) -> None:
        """Sends to one rank."""

    @abstractmethod
    def recv(self, tensor: Any, source: int) -> Any:
        """Receives into ``tensor``."""

    @abstractmethod
    def close(self) -> None:
        """Leaves the group."""


# --- scheduling policies -------------------------------------------------------------------------


class Orderable(Protocol):
    """What a policy may look at in a request."""

    @property
    def request_id(self) -> str: ...
    @property
    def priority(self) -> int: ...
    @property
    def arrival_time(self) -> float: ...
    @property
    def arrival_index(self) -> int: ...
    @property
    def num_tokens(self) -> int:
        """Prompt and what was generated so far: it grows."""
        ...

    @property
    def num_prompt_tokens(self) -> int:
        """Tokens of the prompt; since executor 1.1."""
        ...

    @property
    def extra_args(self) -> Mapping[str, Mapping[str, Any]]:
        """What the request says to plugins, by plugin name. Since executor 1.1."""
        ...


@dataclass(frozen=True, kw_only=True)
class SchedulerOffer(Offer):
    """An ordering of requests. ``target`` is a ``SchedulingPolicy`` class.

    Attributes:
        takes_extra_args: Requests may tell the policy something: ``SamplingParams.extra_args[plugin]``, which
            ``validate_params`` checks. Since executor 1.1.
    """

    takes_extra_args: bool = False


class SchedulingPolicy(ABC):
    """Orders requests. The smallest key is scheduled first; the largest key is preempted first."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @classmethod
    def validate_params(cls, arguments: Mapping[str, Any]) -> None:
        """Checks ``extra_args[plugin]`` of one request, in the frontend; see ``SchedulerOffer.takes_extra_args``.

        Raises:
            ParameterError: naming the argument.
        """

    @abstractmethod
    def key(self, request: Orderable) -> Sequence[float]:
        """Sort key; must not change while the request lives."""
