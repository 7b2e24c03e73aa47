from __future__ import annotations

from kernelet.contracts.offer import Settings
from kernelet_platform_cuda.device import CudaDevice
from kernelet_platform_cuda.recorded_device import RecordedDevice


def test_it_is_the_device_of_the_platform():
    device = RecordedDevice(Settings(plugin="x"), 0)
    assert isinstance(device, CudaDevice)
    assert device.calls == []
    device.init()
    assert [call.name for call in device.calls] == ["device_count", "set_device"]
