"""A platform: a device, what it can do, and the worker that runs on it.

Two halves: ``PlatformConfig`` lives in every process and imports no torch; ``Device`` lives in workers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernelet.contracts.lifecycle import ConfigChange
from kernelet.contracts.offer import Offer, Settings

if TYPE_CHECKING:
    from kernelet.config import EngineConfig
    from kernelet.contracts.op import PackedWeights
    from kernelet.contracts.sampling import SamplingParams


@dataclass(frozen=True, kw_only=True)
class Probe:
    """Answer of a platform's probe.

    Attributes:
        available: Whether the device is there and usable.
        priority: 0 for a platform that is always there, 100 for an accelerator.
        reason: Why (not), in one sentence.
    """

    available: bool
    reason: str
    priority: int = 0


@dataclass(frozen=True, kw_only=True)
class PlatformOffer(Offer):
    """A platform. ``target`` is the ``Device`` class.

    Attributes:
        probe: Import string of ``() -> Probe``; creates no device context and imports no torch.
        config: Import string of the ``PlatformConfig`` class.
        worker: Import string of the ``Worker`` class.
        communicator: Import string of the default ``Communicator`` class; empty: one rank only.
        kernel_bench: Import string of the ``KernelBench`` class; empty: its kernels cannot be measured. Since 1.2.
    """

    probe: str
    config: str
    worker: str
    communicator: str = ""
    kernel_bench: str = ""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What a platform can do. The core asks this and never a platform's name; defaults are conservative.

    Attributes:
        device_type: The name that tensors' devices have, e.g. what ``torch.device`` takes.
        dtypes: Supported compute dtypes, best first (``"bfloat16"``, ``"float32"``, ...); "auto" takes the checkpoint's
            own when it is in here, else the first.
        compute_capability: (major, minor) where the vendor defines one.
        features: Open set of feature ids that offers may require, e.g. ``"fp8"``, ``"graphs"``, ``"streams"``.
        lacks: (feature, why it is not there) of some that others of this platform's devices have. Since platform 1.5.
        num_compute_units: Cores, multiprocessors or the like.
        memory_bytes: Memory that the device can give to this process.
    """

    device_type: str
    dtypes: tuple[str, ...]
    memory_bytes: int
    num_compute_units: int = 1
    compute_capability: tuple[int, int] | None = None
    features: frozenset[str] = frozenset()
    lacks: tuple[tuple[str, str], ...] = ()


class PlatformConfig(ABC):
    """The half of a platform that imports no torch; made in every process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What the device can do, found without creating a device context."""

    def check_and_update_config(self, config: EngineConfig) -> Sequence[ConfigChange]:
        """Changes that the platform needs.

        Raises:
            ConfigError: if the configuration cannot work on this platform.
        """
        return ()

    def validate_request(self, prompt_len: int, params: SamplingParams) -> None:
        """Called for each request in the frontend.

        Raises:
            RequestError: if the platform cannot serve this request.
        """

    def attention_order(self) -> tuple[str, ...]:
        """Names of attention offers, the platform's favourite first; others follow by priority."""
        return ()


@dataclass(frozen=True, kw_only=True)
class MemoryInfo:
    """Bytes of device memory: what this process may use in all, and what is free of it now."""

    total: int
    free: int


class Device(ABC):
    """Worker side of a platform: all that the runner uses of a device.

    Tensors are ``torch.Tensor`` on platforms that use torch. Streams, events and graphs are optional: a platform
    without the feature ``"streams"`` runs each step on the worker's own thread.
    """

    @abstractmethod
    def __init__(self, settings: Settings, local_rank: int) -> None:
        """Touches nothing yet.

        Args:
            settings: The plugin's.
            local_rank: Which of this machine's workers this is.
        """

    @abstractmethod
    def init(self) -> None:
        """Takes the device: context, threads, default dtype checks. Called once."""

    @abstractmethod
    def get_device_name(self) -> str:
        """Human-readable name of the device and of the code path taken."""

    @property
    @abstractmethod
    def tensor_device(self) -> Any:
        """What to pass as ``device=`` when making a tensor."""

    @abstractmethod
    def memory(self) -> MemoryInfo:
        """Memory of the device now."""

    @abstractmethod
    def manual_seed(self, seed: int) -> None:
        """Seeds the device's generators."""

    @abstractmethod
    def synchronize(self) -> None:
        """Waits for all work that was launched."""

    def empty_pinned(self, shape: Sequence[int], dtype: Any) -> Any:
        """Host tensor that the device can copy from asynchronously."""
        import importlib

        return importlib.import_module("torch").empty(tuple(shape), dtype=dtype)

    def copy_async(self, source: Any, destination: Any) -> None:
        """Copies a tensor; ordered with later work, not with the host."""
        destination.copy_(source)

    def packed_weights(self) -> PackedWeights | None:
        """Where prepared weights are kept between starts; None: nowhere. Since platform 1.2.

        Asked for once a load of the model, of which there may be several: after a deep sleep there is another.
        """
        return None

    def capture(self, fn: Callable[[], None]) -> Callable[[], None] | None:
        """Records ``fn`` as a graph and returns its replay; None where graphs do not exist.

        Args:
            fn: Was called before, so that all is compiled. A device may record its launches without computing them.
        """
        return None

    def close(self) -> None:
        """Releases the device."""


class SharesHost(ABC):
    """A ``Device`` that is told with how many it shares the machine. Since platform 1.3."""

    @abstractmethod
    def share_host(self, local_size: int) -> None:
        """Called before ``init`` where several workers of the engine run on this machine.

        Args:
            local_size: How many: what they share (processors, memory) is divided by it.
        """


class RecordsEvents(ABC):
    """A ``Device`` that computes while the host goes on. Since platform 1.4."""

    @abstractmethod
    def record(self) -> Callable[[], None]:
        """Marks what was launched so far; what is returned waits for that, and not for later work."""


class MeasuresMemory(ABC):
    """A ``Device`` that knows how much was taken at once: a worker runs its largest step to see. Since platform 1.4."""

    @abstractmethod
    def reset_peak(self) -> None:
        """Begins to measure."""

    @abstractmethod
    def peak(self) -> int:
        """Bytes that tensors took at once at most since then, beyond those that they took when it began."""


class MovesWeights(ABC):
    """A ``Device`` whose memory is its own, so that weights can sleep in the host's. Since platform 1.4."""

    @abstractmethod
    def offload(self, tensors: Sequence[Any]) -> Callable[[], None]:
        """Moves tensors to the host and frees what they took; what is returned brings them back, bit by bit.

        Args:
            tensors: Some may look at the same memory. They are the same objects afterwards, and may not be used before
                they are back.
        """

    @abstractmethod
    def release(self) -> None:
        """Gives memory that no tensor needs back to the system: others may take it."""


@dataclass(frozen=True, kw_only=True)
class KernelFigure:
    """What one kernel took. Since platform 1.2.

    Attributes:
        kernel: Its name, as the plan says it.
        weight: Form and shape of what it was measured with, for people.
        rows: Rows (tokens) of a call.
        seconds: Of a call, the best of some.
        detail: How it was computed: the row of a table, or the like.
    """

    kernel: str
    weight: str
    rows: int
    seconds: float
    detail: str = ""


class KernelBench(ABC):
    """Measures a platform's kernels for ``kernelet bench kernels``. Since platform 1.2."""

    @abstractmethod
    def __init__(self, settings: Settings) -> None:
        """Takes the device.

        Raises:
            ConfigError: the settings cannot work.
        """

    @abstractmethod
    def measure(self, advance: Callable[[int, int], None]) -> Sequence[KernelFigure]:
        """Every kernel as it would be chosen; ``advance(done, total)`` is called as it goes on."""

    def tune(self, advance: Callable[[int, int], None]) -> str:
        """Measures what can be chosen, and returns a table with the best: the text of a file that an option takes.

        Raises:
            ConfigError: there is nothing to choose.
        """
        from kernelet.errors import ConfigError

        raise ConfigError("the kernels of this platform have no table: leave out --tune")


@dataclass(frozen=True, kw_only=True)
class PlatformChoice:
    """The selected platform with its facts, as other processes are told."""

    name: str
    capabilities: Capabilities
    attention_order: tuple[str, ...] = field(default=())
