"""A device that remembers what is asked of torch's module."""

from __future__ import annotations

from kernelet_device_torch.conformance import Recorded
from kernelet_platform_rocm.device import RocmDevice


class RecordedDevice(Recorded, RocmDevice):
    """For tests on machines without a GPU."""
