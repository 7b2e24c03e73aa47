"""The platform on a machine without a GPU, for tests: ``plugins=["kernelet_platform_cuda.recorded:plugin"]``."""

from __future__ import annotations

from kernelet_device_torch.recorded_platform import MEMORY, RecordedFacts, RecordedPlatform
from kernelet_platform_cuda import plugin as own
from kernelet_platform_cuda.config import CudaPlatformConfig
from kernelet_platform_cuda.nvml import Gpu

GPU = Gpu(
    uuid="GPU-00000000-recorded", name="recorded", compute_capability=(9, 0), memory_bytes=MEMORY, multiprocessors=132
)


class RecordedConfig(RecordedFacts, CudaPlatformConfig):
    """Of one GPU."""

    def gpus(self) -> tuple[Gpu, ...]:
        return (GPU,)


plugin = RecordedPlatform(own, "kernelet_platform_cuda")
