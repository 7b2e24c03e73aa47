"""The device: torch on the host's processors, with a memory of its own size."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

from acme_platform.config import positive
from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import Device, MemoryInfo


def resident_bytes(statm: Path = Path("/proc/self/statm")) -> int:
    """Memory that this process holds."""
    pages = int(statm.read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class AcmeDevice(Device):
    """What the process takes after ``init`` counts as taken from the device. Each rank has a device of its own."""

    def __init__(self, settings: Settings, local_rank: int) -> None:
        self._total = positive(settings, "memory_mib") << 20
        self._threads = positive(settings, "threads")
        self._rank = local_rank
        self._before = 0

    def init(self) -> None:
        torch.set_num_threads(self._threads)
        self._before = resident_bytes()

    def get_device_name(self) -> str:
        return f"acme:{self._rank} ({self._total >> 20} MiB, {self._threads} threads)"

    @property
    def tensor_device(self) -> Any:
        return torch.device("cpu")

    def memory(self) -> MemoryInfo:
        taken = max(0, resident_bytes() - self._before) if self._before else 0
        return MemoryInfo(total=self._total, free=max(0, self._total - taken))

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def synchronize(self) -> None:
        """Nothing is ever outstanding."""
