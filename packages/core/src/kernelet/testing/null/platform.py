"""The null platform's device: there is none."""

from __future__ import annotations

from typing import Any

from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import Capabilities, Device, MemoryInfo, PlatformConfig, Probe

DTYPES = ("float32", "float64", "bfloat16", "float16")


def probe() -> Probe:
    """Always there, and never better than a real platform."""
    return Probe(available=True, reason="needs nothing", priority=-100)


def memory_bytes(settings: Settings) -> int:
    """The plugin's option."""
    return int(settings["memory_bytes"] or 0)


class NullConfig(PlatformConfig):
    """Every dtype works, as nothing is computed."""

    def capabilities(self) -> Capabilities:
        return Capabilities(device_type="null", dtypes=DTYPES, memory_bytes=memory_bytes(self.settings))


class NullDevice(Device):
    """Has memory that nobody takes."""

    def __init__(self, settings: Settings, local_rank: int) -> None:
        self._memory = memory_bytes(settings)

    def init(self) -> None:
        """Nothing to take."""

    def get_device_name(self) -> str:
        return "null"

    @property
    def tensor_device(self) -> Any:
        return "null"

    def memory(self) -> MemoryInfo:
        return MemoryInfo(total=self._memory, free=self._memory)

    def manual_seed(self, seed: int) -> None:
        """Nothing is random."""

    def synchronize(self) -> None:
        """Nothing runs."""
