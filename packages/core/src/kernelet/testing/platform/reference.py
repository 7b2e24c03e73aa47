"""A platform on the host with torch, slow and obvious. Importing it imports no torch."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

from kernelet.config import EngineConfig
from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.lifecycle import ConfigChange, PluginOptions
from kernelet.contracts.offer import Option, Settings
from kernelet.contracts.op import WeightKernelOffer
from kernelet.contracts.platform import (
    Capabilities,
    Device,
    MemoryInfo,
    MovesWeights,
    PlatformConfig,
    PlatformOffer,
    Probe,
    RecordsEvents,
)
from kernelet.contracts.sampling import SamplingParams
from kernelet.errors import ConfigError, RequestError
from kernelet.hookspecs import hookimpl

NAME = "reference"
LONGEST_PROMPT = 4096
BLOCK_MULTIPLE = 4


def probe() -> Probe:
    """Available wherever torch is installed; only taken when named."""
    found = importlib.util.find_spec("torch") is not None
    return Probe(available=found, reason="torch is installed" if found else "torch is not installed", priority=-200)


class ReferenceConfig(PlatformConfig):
    """One rank, and blocks of a multiple of 4 tokens."""

    def capabilities(self) -> Capabilities:
        return Capabilities(
            device_type="cpu",
            dtypes=("float32", "float64", "bfloat16", "float16"),
            memory_bytes=int(self.settings["memory_bytes"] or 0),
            features=frozenset({"graphs", NAME}),
        )

    def check_and_update_config(self, config: EngineConfig) -> Sequence[ConfigChange]:
        if config.parallel.tensor_parallel_size != 1:
            raise ConfigError(f"the platform {NAME!r} has one rank: use --tensor-parallel-size 1")
        size = config.cache.block_size
        if size % BLOCK_MULTIPLE == 0:
            return ()
        wanted = -(-size // BLOCK_MULTIPLE) * BLOCK_MULTIPLE
        return (ConfigChange(path="cache.block_size", value=wanted, reason="blocks are multiples of 4 tokens"),)

    def validate_request(self, prompt_len: int, params: SamplingParams) -> None:
        if prompt_len > LONGEST_PROMPT:
            raise RequestError(f"a prompt of {prompt_len} tokens is too long here: {LONGEST_PROMPT} at most")

    def attention_order(self) -> tuple[str, ...]:
        return (NAME,)


class ReferenceDevice(Device, RecordsEvents, MovesWeights):
    """The host. A graph is the function itself; weights that sleep are copies."""

    def __init__(self, settings: Settings, local_rank: int) -> None:
        self._memory = int(settings["memory_bytes"] or 0)

    def init(self) -> None:
        """Nothing to take."""

    def get_device_name(self) -> str:
        return "the host"

    @property
    def tensor_device(self) -> Any:
        return importlib.import_module("torch").device("cpu")

    def memory(self) -> MemoryInfo:
        return MemoryInfo(total=self._memory, free=self._memory)

    def manual_seed(self, seed: int) -> None:
        importlib.import_module("torch").manual_seed(seed)

    def synchronize(self) -> None:
        """Nothing is outstanding."""

    def record(self) -> Callable[[], None]:
        return self.synchronize

    def capture(self, fn: Callable[[], None]) -> Callable[[], None] | None:
        fn()
        return fn

    def offload(self, tensors: Sequence[Any]) -> Callable[[], None]:
        copies = [tensor.detach().clone() for tensor in tensors]
        for tensor in tensors:
            tensor.detach().zero_()

        def bring_back() -> None:
            for tensor, values in zip(tensors, copies, strict=True):
                tensor.detach().copy_(values)

        return bring_back

    def release(self) -> None:
        """Nothing is kept."""


class ReferencePlugin:
    """The platform with the references of attention and weight kernels."""

    name = "platform-reference"

    @hookimpl
    def kernelet_options(self) -> PluginOptions:
        return PluginOptions(schema={"memory_bytes": Option(type=int, default=1 << 28, help="Memory of the device.")})

    @hookimpl
    def kernelet_platforms(self) -> Sequence[PlatformOffer]:
        return (
            PlatformOffer(
                name=NAME,
                target=f"{__name__}:ReferenceDevice",
                probe=f"{__name__}:probe",
                config=f"{__name__}:ReferenceConfig",
                worker="kernelet.worker.worker:ModelWorker",
                summary="The host, slow and obvious",
            ),
        )

    @hookimpl
    def kernelet_attention_backends(self) -> Sequence[AttentionOffer]:
        return (
            AttentionOffer(
                name=NAME,
                target="kernelet.testing.attention.reference:SlowAttention",
                kinds=frozenset({"full", "sliding"}),
                soft_cap=True,
                sinks=True,
                required_features=frozenset({NAME}),
            ),
        )

    @hookimpl
    def kernelet_weight_kernels(self) -> Sequence[WeightKernelOffer]:
        return (
            WeightKernelOffer(
                name=NAME,
                target="kernelet.testing.weight_kernel.reference:ReferenceKernel",
                roles=("linear", "grouped_linear", "embedding"),
                required_features=frozenset({NAME}),
            ),
        )


plugin = ReferencePlugin()
"""For ``plugins=["kernelet.testing.platform.reference:plugin"]``."""
