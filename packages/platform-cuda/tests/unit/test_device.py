from __future__ import annotations

import torch

from kernelet.contracts.offer import Settings
from kernelet_platform_cuda.device import CudaDevice


def test_what_torch_calls_it():
    device = CudaDevice(Settings(plugin="platform-cuda"), 1)
    assert device.tensor_device == torch.device("cuda", 1)
    assert device.module is torch.cuda
    assert hasattr(torch.cuda, device.graph_type)
    assert not torch.cuda.is_initialized()
