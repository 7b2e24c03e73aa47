"""The worker's half of the CPU platform."""

from __future__ import annotations

from typing import Any

import torch

from kernelet.config import env
from kernelet.config.host_memory import available_memory
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import PackedWeights
from kernelet.contracts.platform import Device, MemoryInfo, SharesHost
from kernelet_platform_cpu.allocator import keep_freed_memory
from kernelet_platform_cpu.config import pinned_cpus, threads
from kernelet_platform_cpu.cpuinfo import code_path, cpu_flags, cpu_model
from kernelet_platform_cpu.loading import WhileLoading
from kernelet_platform_cpu.native import native
from kernelet_platform_cpu.packing_cache import PackingCache

PACKED_CACHE_BYTES = 16 << 30


class CpuDevice(Device, SharesHost):
    """The processor. Everything runs when it is called; there are no streams."""

    def __init__(self, settings: Settings, local_rank: int) -> None:
        keep_freed_memory()  # here and not in init, which runs on the worker's own thread
        self._rank = local_rank
        self._before = 0
        self._packed: WhileLoading | None = None
        self._settings = settings
        self.share_host(1)

    def share_host(self, local_size: int) -> None:
        """Ranks divide processors and free memory."""
        self._sharers = local_size
        self._threads = threads(self._settings, local_size)
        self._cpus = pinned_cpus(self._settings, local_size, self._rank)

    def init(self) -> None:
        """Starts the threads of the kernels; torch has one then, so that no two pools spin against each other."""
        module = native()
        torch.set_num_threads(1 if module else self._threads)
        if module:
            module.start_pool(self._threads, list(self._cpus))
        self._before = available_memory().bytes // self._sharers

    def get_device_name(self) -> str:
        module = native()
        kernels = f"kernels for {module.chosen_isa()}" if module else f"kernels of torch, {code_path(cpu_flags())}"
        return f"{cpu_model()} ({self._threads} threads{', pinned' if self._cpus else ''}, {kernels})"

    @property
    def tensor_device(self) -> Any:
        return torch.device("cpu")

    def memory(self) -> MemoryInfo:
        free = available_memory().bytes // self._sharers
        return MemoryInfo(total=max(self._before, free), free=free)

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def synchronize(self) -> None:
        """Nothing is ever outstanding."""

    def packed_weights(self) -> PackedWeights | None:
        limit = self._settings.values.get("packed_cache_bytes")
        size = PACKED_CACHE_BYTES if limit is None else int(limit)
        wanted = self._settings.values.get("packed_cache", True)
        kept = PackingCache(env.cache_dir() / "packed", size, self._threads) if wanted else None
        self._packed = WhileLoading(kept)
        return self._packed

    def close(self) -> None:
        if self._packed is not None:
            self._packed.close()
            self._packed = None
