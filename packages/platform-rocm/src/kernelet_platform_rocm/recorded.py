"""The platform on a machine without a GPU, for tests: ``plugins=["kernelet_platform_rocm.recorded:plugin"]``."""

from __future__ import annotations

from kernelet_device_torch.recorded_platform import MEMORY, RecordedFacts, RecordedPlatform
from kernelet_platform_rocm import plugin as own
from kernelet_platform_rocm.config import RocmPlatformConfig
from kernelet_platform_rocm.kfd import Gpu

GPU = Gpu(uuid="GPU-00000000recorded", target="gfx942", memory_bytes=MEMORY, compute_units=304, wave_size=64)


class RecordedConfig(RecordedFacts, RocmPlatformConfig):
    """Of one GPU."""

    def gpus(self) -> tuple[Gpu, ...]:
        return (GPU,)


plugin = RecordedPlatform(own, "kernelet_platform_rocm")
