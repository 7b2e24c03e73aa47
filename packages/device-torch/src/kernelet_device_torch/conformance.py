"""For conformance suites on machines without the device: its calls are remembered, with the real signatures."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch

from kernelet.testing.platform.recording import Call
from kernelet.testing.platform.recording_module import RecordingModule
from kernelet_device_torch.device import TorchDevice
from kernelet_device_torch.recorded_platform import MEMORY


class Recorded(TorchDevice):
    """Mixin before a ``TorchDevice``: its calls of torch's module are remembered, with the signatures of the real one.

    Tensors lie on the host. A graph is computed when it is recorded and again whenever it is replayed.
    """

    @cached_property
    def module(self) -> Any:
        """A stand-in, see ``RecordingModule``."""
        answers = {
            "device_count": 1,
            "get_device_name": "recorded",
            "mem_get_info": (MEMORY // 2, MEMORY),
            "memory_reserved": 0,
            "memory_allocated": 0,
            "max_memory_allocated": self.measure,
            "graph_pool_handle": (0, 1),
        }
        return RecordingModule(getattr(torch, self.device_type), answers)

    @property
    def calls(self) -> list[Call]:
        """What was asked of the module, oldest first."""
        found: list[Call] = self.module.calls
        return found

    @property
    def tensor_device(self) -> Any:
        return torch.device("cpu")

    def measure(self, device: Any = None) -> int:
        """Bytes that the largest step is said to take."""
        return MEMORY // 64

    def capture(self, fn: Callable[[], None]) -> Callable[[], None] | None:
        replay = super().capture(fn)

        def again() -> None:
            if replay is not None:
                replay()
            fn()

        return again
