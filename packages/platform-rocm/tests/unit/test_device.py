from __future__ import annotations

import torch

from kernelet.contracts.offer import Settings
from kernelet_platform_rocm.device import RocmDevice


def test_what_torch_calls_it():
    device = RocmDevice(Settings(plugin="platform-rocm"), 1)
    assert device.tensor_device == torch.device("cuda", 1)
    assert hasattr(device.module, device.graph_type)
    assert not torch.cuda.is_initialized()
