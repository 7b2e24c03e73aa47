"""What the tests of devices say of devices that are wrong in one way."""

from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import MemoryInfo
from kernelet.testing.platform.device_tests import DeviceTests
from kernelet.testing.platform.reference import ReferenceConfig, ReferenceDevice
from kernelet.testing.verdict import ConformanceError

SETTINGS = Settings(plugin="p", values={"memory_bytes": 1 << 20})
CONFIG = ReferenceConfig(SETTINGS)


def device(**members):
    return type("Changed", (ReferenceDevice,), members)(SETTINGS, 0)


def said(test, *arguments):
    with pytest.raises(ConformanceError) as info:
        test(DeviceTests(), *arguments)
    return str(info.value)


def test_names():
    assert "for people" in said(DeviceTests.test_name, device(get_device_name=lambda self: " "))


@pytest.mark.parametrize(
    "info, word",
    [
        (MemoryInfo(total=1 << 20, free=0), "above 0"),
        (MemoryInfo(total=1 << 20, free=1.5), "whole bytes"),
        (MemoryInfo(total=1 << 10, free=1 << 10), "another unit"),
        ((1, 1), "return a MemoryInfo"),
    ],
)
def test_memory(info, word):
    assert word in said(DeviceTests.test_memory, device(memory=lambda self: info), CONFIG)


def test_tensors():
    elsewhere = device(tensor_device=property(lambda self: torch.device("meta")))
    assert "device_type" in said(DeviceTests.test_tensors_lie_on_the_device, torch, elsewhere, CONFIG)


def test_pinned_tensors():
    wrong = device(empty_pinned=lambda self, shape, dtype: torch.empty(shape, dtype=torch.float64))
    assert "shape and dtype" in said(DeviceTests.test_copies_arrive, torch, wrong)
    lost = device(copy_async=lambda self, source, destination: None)
    assert "copy the source" in said(DeviceTests.test_copies_arrive, torch, lost)


def test_seeds():
    fixed = device(manual_seed=lambda self, seed: torch.manual_seed(1))
    assert "take the seed" in said(DeviceTests.test_the_seed_decides, torch, fixed)


def test_graphs_that_were_promised():
    without = device(capture=lambda self, fn: None)
    assert "'graphs'" in said(DeviceTests.test_captured_work_is_computed_again, torch, without, CONFIG)
