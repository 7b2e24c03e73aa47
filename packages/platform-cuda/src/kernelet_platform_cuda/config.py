"""The half of the CUDA platform that imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.contracts.lifecycle import ConfigChange
from kernelet.contracts.platform import Capabilities, PlatformConfig
from kernelet.errors import ConfigError
from kernelet_platform_cuda.facts import capabilities_of
from kernelet_platform_cuda.nvml import VARIABLE, Gpu, look_up, visible_gpus, visible_value

if TYPE_CHECKING:
    from kernelet.config import EngineConfig


class CudaPlatformConfig(PlatformConfig):
    """Facts about the GPUs that this process sees."""

    def gpus(self) -> tuple[Gpu, ...]:
        """In the order of ranks.

        Raises:
            NoDriverError: they cannot be looked up.
            ConfigError: there is none.
        """
        found = visible_gpus(look_up(), visible_value())
        if not found:
            raise ConfigError(f"no GPU is visible: see {VARIABLE}")
        return found

    def capabilities(self) -> Capabilities:
        return capabilities_of(self.gpus())

    def check_and_update_config(self, config: EngineConfig) -> Sequence[ConfigChange]:
        wanted, here = config.parallel.tensor_parallel_size, len(self.gpus())
        if wanted > here:
            raise ConfigError(
                f"--tensor-parallel-size {wanted} needs as many GPUs, and {here} can be seen here: use at most {here}, "
                f"or let {VARIABLE} show more"
            )
        return ()

    def attention_order(self) -> tuple[str, ...]:
        return ("flash-4", "flash-3", "flash", "flashinfer", "triton", "flex")
