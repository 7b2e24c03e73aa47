"""The half of the ROCm platform that imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.contracts.lifecycle import ConfigChange
from kernelet.contracts.platform import Capabilities, PlatformConfig
from kernelet.errors import ConfigError
from kernelet_platform_rocm.facts import capabilities_of
from kernelet_platform_rocm.kfd import FIRST, SECOND, Gpu, look_up, visible_gpus, visible_values

if TYPE_CHECKING:
    from kernelet.config import EngineConfig


class RocmPlatformConfig(PlatformConfig):
    """Facts about the GPUs that this process sees."""

    def gpus(self) -> tuple[Gpu, ...]:
        """In the order of ranks.

        Raises:
            NoDriverError: they cannot be looked up.
            ConfigError: there is none.
        """
        found = visible_gpus(look_up(), visible_values())
        if not found:
            raise ConfigError(f"no GPU is visible: see {FIRST} and {SECOND[0]}")
        return found

    def capabilities(self) -> Capabilities:
        return capabilities_of(self.gpus())

    def check_and_update_config(self, config: EngineConfig) -> Sequence[ConfigChange]:
        wanted, here = config.parallel.tensor_parallel_size, len(self.gpus())
        if wanted > here:
            raise ConfigError(
                f"--tensor-parallel-size {wanted} needs as many GPUs, and {here} can be seen here: use at most {here}, "
                f"or let {FIRST} and {SECOND[0]} show more"
            )
        return ()

    def attention_order(self) -> tuple[str, ...]:
        return ("aiter", "triton", "flex")
