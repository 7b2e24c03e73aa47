"""The half of the CPU platform that imports no torch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.config.host_memory import available_memory
from kernelet.contracts.lifecycle import ConfigChange
from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import Capabilities, PlatformConfig
from kernelet.errors import ConfigError
from kernelet_platform_cpu.cpuinfo import cpu_flags, dtypes, features
from kernelet_platform_cpu.native import native
from kernelet_platform_cpu.quota import allowed_cpus, usable_cpus

if TYPE_CHECKING:
    from kernelet.config import EngineConfig


def threads(settings: Settings, ranks: int = 1) -> int:
    """Threads of a step: the option, else every CPU that the process may use, shared by the ranks of this machine.

    Raises:
        ConfigError: if the option is below 1.
    """
    chosen = settings.values.get("threads")
    if chosen is None:
        return max(1, usable_cpus() // ranks)
    if int(chosen) < 1:
        raise ConfigError(f"{settings.plugin}.threads is {chosen}; it must be at least 1, or unset for all usable CPUs")
    return int(chosen)


def pinned_cpus(settings: Settings, ranks: int = 1, rank: int = 0) -> tuple[int, ...]:
    """A CPU for each thread of a rank, or none: the kernel places them.

    Unset, threads are pinned where the affinity mask is narrower than the machine and each of its CPUs gets one: with
    CPUs to spare, another process of the same mask would pin its threads to the same ones.

    Raises:
        ConfigError: there are more threads to pin than CPUs.
    """
    wanted, each, cpus = settings.values.get("pin"), threads(settings, ranks), allowed_cpus()
    count = each * ranks
    if wanted is None:
        wanted = count == len(cpus) < (os.cpu_count() or 1)
    if not wanted:
        return ()
    if count > len(cpus):
        of_ranks = f" of {ranks} ranks" if ranks > 1 else ""
        raise ConfigError(
            f"{settings.plugin}.pin needs a CPU for each of {count} threads{of_ranks}, but this process may use "
            f"{len(cpus)}; set {settings.plugin}.threads to at most {len(cpus) // ranks}"
        )
    return cpus[rank * each : (rank + 1) * each]


class CpuPlatformConfig(PlatformConfig):
    """Facts about the processor and the memory of this process."""

    def capabilities(self) -> Capabilities:
        flags = cpu_flags()
        return Capabilities(
            device_type="cpu",
            dtypes=dtypes(flags),
            memory_bytes=available_memory().bytes,
            num_compute_units=threads(self.settings),
            features=features(flags) | ({"cpu-kernels"} if native() else frozenset()),
        )

    def check_and_update_config(self, config: EngineConfig) -> Sequence[ConfigChange]:
        pinned_cpus(self.settings, config.parallel.tensor_parallel_size)
        return ()

    def attention_order(self) -> tuple[str, ...]:
        return ("native-paged", "torch-paged")
