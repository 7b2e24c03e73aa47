from __future__ import annotations

from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import MemoryInfo
from kernelet.testing.null.platform import NullConfig, NullDevice, probe

SETTINGS = Settings(plugin="platform-null", values={"memory_bytes": 1000})


def test_always_available_and_never_preferred():
    assert probe().available
    assert probe().priority < 0


def test_capabilities():
    capabilities = NullConfig(SETTINGS).capabilities()
    assert capabilities.memory_bytes == 1000
    assert "float32" in capabilities.dtypes


def test_device():
    device = NullDevice(SETTINGS, 0)
    device.init()
    device.manual_seed(1)
    device.synchronize()
    assert device.memory() == MemoryInfo(total=1000, free=1000)
    assert device.get_device_name() == device.tensor_device == "null"
    assert device.capture(lambda: None) is None
    device.close()
