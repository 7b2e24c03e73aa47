"""The half of the CPU platform that imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.config.host_memory import available_memory
from kernelet.contracts.lifecycle import ConfigChange
from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import Capabilities, PlatformConfig
from kernelet.errors import ConfigError
from kernelet_platform_cpu.cpuinfo import cpu_flags, dtypes, features
from kernelet_platform_cpu.quota import usable_cpus

if TYPE_CHECKING:
    from kernelet.config import EngineConfig


def threads(settings: Settings) -> int:
    """Threads of a step: the option, else every CPU that the process may use.

    Raises:
        ConfigError: if the option is below 1.
    """
    chosen = settings.values.get("threads")
    if chosen is None:
        return usable_cpus()
    if int(chosen) < 1:
        raise ConfigError(f"{settings.plugin}.threads is {chosen}; it must be at least 1, or unset for all usable CPUs")
    return int(chosen)


class CpuPlatformConfig(PlatformConfig):
    """Facts about the processor and the memory of this process."""

    def capabilities(self) -> Capabilities:
        flags = cpu_flags()
        return Capabilities(
            device_type="cpu",
            dtypes=dtypes(flags),
            memory_bytes=available_memory().bytes,
            num_compute_units=threads(self.settings),
            features=features(flags),
        )

    def check_and_update_config(self, config: EngineConfig) -> Sequence[ConfigChange]:
        if config.parallel.tensor_parallel_size != 1:
            raise ConfigError(
                f"tensor parallel size {config.parallel.tensor_parallel_size} is not supported on the platform 'cpu'; "
                "use 1"
            )
        threads(self.settings)
        return ()

    def attention_order(self) -> tuple[str, ...]:
        return ("torch-paged",)
