"""The worker's half of the CUDA platform."""

from __future__ import annotations

from kernelet_device_torch.device import TorchDevice


class CudaDevice(TorchDevice):
    """An NVIDIA GPU."""

    device_type = "cuda"
    graph_type = "CUDAGraph"
