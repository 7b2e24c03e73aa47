"""A device that remembers what is asked of torch's module."""

from __future__ import annotations

from kernelet_device_torch.conformance import Recorded
from kernelet_platform_cuda.device import CudaDevice


class RecordedDevice(Recorded, CudaDevice):
    """For tests on machines without a GPU."""
