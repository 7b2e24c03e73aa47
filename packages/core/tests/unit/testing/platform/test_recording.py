from __future__ import annotations

import inspect

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import Device
from kernelet.testing.platform.recording import Call, RecordingDevice, recording

SETTINGS = Settings(plugin="p")


@pytest.fixture
def device():
    made = RecordingDevice(SETTINGS, 1)
    made.init()
    return made


def test_calls_are_kept_in_order_with_their_arguments(device):
    source, there = torch.ones(2), torch.zeros(2)
    device.manual_seed(5)
    pinned = device.empty_pinned((2, 3), torch.int8)
    device.copy_async(source, there)
    device.synchronize()
    device.close()
    assert device.calls == [
        Call("__init__", {"settings": SETTINGS, "local_rank": 1}),
        Call("init"),
        Call("manual_seed", {"seed": 5}),
        Call("empty_pinned", {"shape": (2, 3), "dtype": torch.int8}),
        Call("copy_async", {"source": source, "destination": there}),
        Call("synchronize"),
        Call("close"),
    ]
    assert there.tolist() == [1, 1]
    assert (pinned.shape, pinned.dtype) == ((2, 3), torch.int8)


def test_a_replay_is_a_call(device):
    ran = []
    replay = device.capture(lambda: ran.append(1))
    replay()
    assert ran == [1, 1]
    assert [call.name for call in device.calls[2:]] == ["capture", "replay"]


def test_the_order_of_a_life_is_held(device):
    with pytest.raises(RuntimeError, match="called once"):
        device.init()
    device.close()
    with pytest.raises(RuntimeError, match=r"synchronize\(\) needs the device between init\(\) and close\(\)"):
        device.synchronize()
    with pytest.raises(RuntimeError, match="is made"):
        RecordingDevice(SETTINGS, 0).memory()


def test_a_class_may_share_its_calls():
    calls = []
    made = recording(calls, memory_bytes=100)(SETTINGS, 0)
    made.init()
    assert made.memory().total == 100
    assert [call.name for call in calls] == ["__init__", "init", "memory"] == [call.name for call in made.calls]
    assert RecordingDevice.memory_bytes > 100


def test_every_method_of_the_contract_has_its_signature():
    for name, member in vars(Device).items():
        if inspect.isfunction(member):
            ours = inspect.signature(getattr(RecordingDevice, name)).parameters
            assert list(ours) == list(inspect.signature(member).parameters), name
