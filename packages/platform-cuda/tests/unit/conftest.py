from __future__ import annotations

import inspect
import sys

import pynvml
import pytest
from fake_nvml import FakeNvml


@pytest.fixture
def machine(monkeypatch):
    """Makes the machine one with these GPUs."""

    def machine(*gpus, error=None, visible=None):
        fake = FakeNvml(gpus, error)
        monkeypatch.setitem(sys.modules, "pynvml", fake)
        monkeypatch.setattr("kernelet_platform_cuda.nvml.find_spec", lambda name: "there")
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        if visible is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        return fake

    return machine


def pytest_generate_tests(metafunc):
    if "nvml_function" in metafunc.fixturenames:
        metafunc.parametrize("nvml_function", [name for name in vars(FakeNvml) if name.startswith("nvml")])


@pytest.fixture
def signatures(nvml_function):
    """Of the double, and of the real function."""
    ours = inspect.signature(getattr(FakeNvml, nvml_function))
    return list(ours.parameters)[1:], list(inspect.signature(getattr(pynvml, nvml_function)).parameters)
