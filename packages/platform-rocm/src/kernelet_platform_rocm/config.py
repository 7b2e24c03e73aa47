"""The half of the ROCm platform that imports no torch."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.platform import Capabilities
from kernelet_device_torch.config import GpuPlatformConfig
from kernelet_platform_rocm.facts import capabilities_of
from kernelet_platform_rocm.kfd import FIRST, SECOND, Gpu, look_up, visible_gpus, visible_values


class RocmPlatformConfig(GpuPlatformConfig[Gpu]):
    """Facts about the GPUs that this process sees."""

    variables = f"{FIRST} and {SECOND[0]}"
    attention = ("aiter", "triton", "flex")

    def look_up(self) -> Sequence[Gpu]:
        return visible_gpus(look_up(), visible_values())

    def capabilities(self) -> Capabilities:
        return capabilities_of(self.gpus())
