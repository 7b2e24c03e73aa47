from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet_platform_cpu.device import CpuDevice


@pytest.fixture
def device():
    before = torch.get_num_threads()
    made = CpuDevice(Settings(plugin="platform-cpu", values={"threads": 1}), 0)
    made.init()
    yield made
    torch.set_num_threads(before)


def test_threads_are_set(device):
    assert torch.get_num_threads() == 1
    assert "1 threads" in device.get_device_name()


def test_memory_is_what_the_process_may_take(device):
    memory = device.memory()
    assert 0 < memory.free <= memory.total


def test_seed_and_tensors(device):
    device.manual_seed(3)
    first = torch.rand(4, device=device.tensor_device)
    device.manual_seed(3)
    assert torch.equal(first, torch.rand(4))
    device.synchronize()
    target = device.empty_pinned((4,), torch.float32)
    device.copy_async(first, target)
    assert torch.equal(first, target)
    assert device.capture(lambda: None) is None
