"""A device that torch reaches through a module of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import Device, MeasuresMemory, MemoryInfo, MovesWeights, RecordsEvents
from kernelet.errors import ConfigError
from kernelet_device_torch.weights import move_to_host


class TorchDevice(Device, RecordsEvents, MeasuresMemory, MovesWeights):
    """All work goes to the current stream, so a copy is ordered with what is launched before and after it.

    Attributes:
        device_type: How torch calls it: ``torch.<device_type>`` is its module.
        graph_type: Name of the class of graphs in that module.
    """

    device_type: ClassVar[str]
    graph_type: ClassVar[str]

    def __init__(self, settings: Settings, local_rank: int) -> None:
        self._index = local_rank
        self._before = 0
        self._pool: Any = None
        self._stream: Any = None

    @cached_property
    def module(self) -> Any:
        """Torch's module of the device."""
        return getattr(torch, self.device_type)

    def init(self) -> None:
        """Takes the device of this rank.

        Raises:
            ConfigError: this process sees too few of them.
        """
        count = self.module.device_count()
        if self._index >= count:
            raise ConfigError(
                f"rank {self._index} of this machine needs a device of its own, but torch sees {count}: use "
                f"--tensor-parallel-size {max(count, 1)}, or make more devices visible"
            )
        self.module.set_device(self._index)

    def get_device_name(self) -> str:
        return f"{self.module.get_device_name(self._index)} ({self.device_type}:{self._index})"

    @property
    def tensor_device(self) -> Any:
        return torch.device(self.device_type, self._index)

    def memory(self) -> MemoryInfo:
        """What torch keeps of memory that nobody uses counts as free."""
        free, total = self.module.mem_get_info(self._index)
        kept = self.module.memory_reserved(self._index) - self.module.memory_allocated(self._index)
        return MemoryInfo(total=total, free=min(total, free + kept))

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)  # of every device, and of the host

    def synchronize(self) -> None:
        self.module.synchronize(self._index)

    def record(self) -> Callable[[], None]:
        event = self.module.Event()
        event.record()
        wait: Callable[[], None] = event.synchronize
        return wait

    def empty_pinned(self, shape: Sequence[int], dtype: Any) -> Any:
        return torch.empty(tuple(shape), dtype=dtype, pin_memory=self.tensor_device.type != "cpu")

    def copy_async(self, source: Any, destination: Any) -> None:
        destination.copy_(source, non_blocking=True)

    def capture(self, fn: Callable[[], None]) -> Callable[[], None] | None:
        """All graphs share one pool: one runs at a time, so each may use the memory of the others."""
        if self._stream is None:
            self._pool, self._stream = self.module.graph_pool_handle(), self.module.Stream(self._index)
        graph = getattr(self.module, self.graph_type)()
        with self.module.graph(graph, pool=self._pool, stream=self._stream):
            fn()
        replay: Callable[[], None] = graph.replay
        return replay

    def reset_peak(self) -> None:
        self.module.reset_peak_memory_stats(self._index)
        self._before = self.module.memory_allocated(self._index)

    def peak(self) -> int:
        return int(self.module.max_memory_allocated(self._index)) - self._before

    def offload(self, tensors: Sequence[Any]) -> Callable[[], None]:
        return move_to_host(tensors, self.empty_pinned)

    def release(self) -> None:
        self.module.empty_cache()

    def close(self) -> None:
        """Gives memory back; the context ends with the process, for torch keeps it."""
        self._pool = self._stream = None
        self.module.empty_cache()
