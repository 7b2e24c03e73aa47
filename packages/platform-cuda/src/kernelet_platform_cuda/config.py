"""The half of the CUDA platform that imports no torch."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.platform import Capabilities
from kernelet_device_torch.config import GpuPlatformConfig
from kernelet_platform_cuda.facts import capabilities_of
from kernelet_platform_cuda.nvml import VARIABLE, Gpu, look_up, visible_gpus, visible_value


class CudaPlatformConfig(GpuPlatformConfig[Gpu]):
    """Facts about the GPUs that this process sees."""

    variables = VARIABLE
    attention = ("flash-4", "flash-3", "flash", "flashinfer", "triton", "flex")

    def look_up(self) -> Sequence[Gpu]:
        return visible_gpus(look_up(), visible_value())

    def capabilities(self) -> Capabilities:
        return capabilities_of(self.gpus())
