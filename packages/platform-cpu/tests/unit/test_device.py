from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet_platform_cpu import device as module
from kernelet_platform_cpu.device import CpuDevice

built = pytest.importorskip("kernelet_platform_cpu._native", exc_type=ImportError)


@pytest.fixture(autouse=True)
def _threads_as_they_were():
    before = torch.get_num_threads(), built.pool_threads()
    yield
    torch.set_num_threads(before[0])
    built.start_pool(before[1], [])


def started(**values):
    made = CpuDevice(Settings(plugin="platform-cpu", values=values), 0)
    made.init()
    return made


@pytest.fixture
def device():
    return started(threads=1)


def test_the_kernels_have_the_threads_and_torch_one(monkeypatch):
    monkeypatch.setattr(module, "native", lambda: built)
    device = started(threads=3, pin=False)
    assert (built.pool_threads(), torch.get_num_threads()) == (3, 1)
    assert device.get_device_name().endswith(f"(3 threads, kernels for {built.chosen_isa()})")


def test_without_kernels_torch_has_the_threads(monkeypatch):
    built.start_pool(1, [])
    monkeypatch.setattr(module, "native", lambda: None)
    device = started(threads=3)
    assert (built.pool_threads(), torch.get_num_threads()) == (1, 3)
    assert "3 threads, kernels of torch" in device.get_device_name()


def test_pinned_threads_are_named():
    assert "1 threads, pinned" in started(threads=1, pin=True).get_device_name()


def test_memory_is_what_the_process_may_take(device):
    memory = device.memory()
    assert 0 < memory.free <= memory.total


def test_ranks_share_memory_and_processors(monkeypatch):
    monkeypatch.setattr(module, "available_memory", lambda: SimpleNamespace(bytes=100))
    monkeypatch.setattr(module, "threads", lambda settings, ranks: 8 // ranks)
    made = CpuDevice(Settings(plugin="platform-cpu", values={"pin": False}), 1)
    made.share_host(4)
    made.init()
    assert (made.memory().free, made.memory().total) == (25, 25)
    assert "(2 threads" in made.get_device_name()


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


@pytest.mark.parametrize("wanted", [True, False])
def test_packed_weights_are_kept_in_the_cache_folder(monkeypatch, tmp_path, wanted):
    monkeypatch.setenv("KERNELET_CACHE_DIR", str(tmp_path))
    device = CpuDevice(Settings(plugin="platform-cpu", values={"threads": 1, "packed_cache": wanted}), 0)
    packed = device.packed_weights()
    assert packed.load("x") is None
    packed.save("x", {"w": torch.ones(1 << 17)})
    packed.close()
    again = device.packed_weights()
    assert (again.load("x") is not None) == wanted, "a model that is loaded again finds them"
    device.close()
    assert len(list(tmp_path.rglob("*.packed"))) == wanted
