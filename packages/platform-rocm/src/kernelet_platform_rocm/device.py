"""The worker's half of the ROCm platform."""

from __future__ import annotations

from kernelet_device_torch.device import TorchDevice


class RocmDevice(TorchDevice):
    """An AMD GPU, which torch reaches through the module of another vendor's name."""

    device_type = "cuda"
    graph_type = "CUDAGraph"
