from __future__ import annotations

import pytest

from kernelet_platform_rocm import probe as module
from kernelet_platform_rocm.probe import probe


@pytest.fixture
def built(monkeypatch):
    """Makes torch a build for HIP."""
    monkeypatch.setattr(module, "torch_build", lambda name: ("7.2", ""))


def test_a_gpu(machine, built, mi300):
    machine(mi300(1), mi300(2))
    found = probe()
    assert (found.available, found.priority) == (True, 100)
    assert found.reason == "2 x gfx942, torch for HIP 7.2"


def test_gpus_that_are_hidden(machine, built, mi300):
    machine(mi300(1), rocr="0", hip="1")
    assert not probe().available
    assert probe().reason == (
        "there is gfx942, but ROCR_VISIBLE_DEVICES='0', HIP_VISIBLE_DEVICES='1' leaves none visible"
    )


def test_torch_for_another_device(machine, monkeypatch, mi300):
    machine(mi300(1))
    monkeypatch.setattr(module, "torch_build", lambda name: (None, "the installed torch 2.13.0+cpu was built for x"))
    assert not probe().available
    assert probe().reason == (
        "there is gfx942, but the installed torch 2.13.0+cpu was built for x: install the ROCm build of torch"
    )


def test_nothing_there(machine, built, mi300):
    machine()
    assert probe().reason == "the AMD GPU driver is loaded, and knows no GPU that computes"
    machine(mi300(1), device=False)
    assert "may not open" in probe().reason
    assert not probe().available
