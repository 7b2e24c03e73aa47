from __future__ import annotations

from kernelet.contracts.offer import Settings
from kernelet_platform_rocm.device import RocmDevice
from kernelet_platform_rocm.recorded_device import RecordedDevice


def test_it_is_the_device_of_the_platform():
    device = RecordedDevice(Settings(plugin="x"), 0)
    assert isinstance(device, RocmDevice)
    assert device.calls == []
    device.init()
    assert [call.name for call in device.calls] == ["device_count", "set_device"]
