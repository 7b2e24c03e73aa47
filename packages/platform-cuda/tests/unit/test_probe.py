from __future__ import annotations

import pynvml
import pytest
from fake_nvml import H100, T4

from kernelet_platform_cuda import probe as module
from kernelet_platform_cuda.probe import probe


@pytest.fixture
def built(monkeypatch):
    """Makes torch a build for CUDA."""
    monkeypatch.setattr(module, "torch_build", lambda name: ("13.0", ""))


def test_a_gpu(machine, built):
    machine(H100, H100)
    found = probe()
    assert (found.available, found.priority) == (True, 100)
    assert found.reason == "2 x NVIDIA H100 with driver 580.1, torch for CUDA 13.0"


@pytest.mark.parametrize("visible", ["", "7", "GPU-9", "MIG-1"])
def test_gpus_that_are_hidden(machine, built, visible):
    machine(H100, T4, visible=visible)
    found = probe()
    assert not found.available
    assert found.reason == (f"there is NVIDIA H100, Tesla T4, but CUDA_VISIBLE_DEVICES={visible!r} leaves none visible")


def test_a_divided_gpu_without_instances(machine, built):
    machine({**H100, "parts": ()})
    assert probe().reason == "there is NVIDIA H100, but no MIG instance was made"


def test_torch_for_another_device(machine, monkeypatch):
    machine(H100)
    monkeypatch.setattr(module, "torch_build", lambda name: (None, "the installed torch 2.13.0+cpu was built for x"))
    assert probe().reason == (
        "there is NVIDIA H100, but the installed torch 2.13.0+cpu was built for x: install the CUDA build of torch"
    )
    assert not probe().available


def test_nothing_there(machine, built):
    machine()
    assert probe().reason == "the NVIDIA driver 580.1 knows no GPU"
    machine(error=pynvml.NVMLError_LibraryNotFound())
    assert probe().reason == "no NVIDIA driver answers: NVML Shared Library Not Found"
    assert not probe().available
