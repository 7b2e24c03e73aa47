from __future__ import annotations

import torch

from kernelet.contracts.offer import Settings
from kernelet_device_torch.conformance import Recorded
from kernelet_device_torch.device import TorchDevice
from kernelet_device_torch.recorded_platform import MEMORY


class Fake(Recorded, TorchDevice):
    device_type, graph_type = "cuda", "CUDAGraph"


def test_calls_are_remembered_and_tensors_lie_on_the_host():
    device = Fake(Settings(plugin="x"), 0)
    device.init()
    assert [call.name for call in device.calls] == ["device_count", "set_device"]
    assert device.tensor_device == torch.device("cpu")
    assert device.memory().total == MEMORY
    assert not device.empty_pinned((3,), torch.int64).is_pinned()
    device.reset_peak()
    assert device.peak() == device.measure() > 0
    assert not torch.cuda.is_initialized()


def test_a_graph_is_computed_again():
    device, ran = Fake(Settings(plugin="x"), 0), []
    replay = device.capture(lambda: ran.append(1))
    replay()
    assert ran == [1, 1]
    assert device.calls[-1].name == "CUDAGraph.replay"


def test_devices_remember_their_own_calls():
    one, other = Fake(Settings(plugin="x"), 0), Fake(Settings(plugin="x"), 0)
    one.synchronize()
    assert len(one.calls) == 1
    assert other.calls == []
