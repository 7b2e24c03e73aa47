from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import MemoryInfo
from kernelet.errors import ConfigError
from kernelet.testing.platform import RecordingModule
from kernelet_device_torch.device import TorchDevice

SETTINGS = Settings(plugin="x")
KINDS = [("cuda", "CUDAGraph"), ("xpu", "XPUGraph")]


@pytest.fixture(params=KINDS, ids=lambda kind: kind[0])
def make(request):
    """Makes a device whose module of torch remembers its calls."""
    kind, graph = request.param

    def make(rank=0, **answers):
        class Device(TorchDevice):
            device_type, graph_type = kind, graph
            module = RecordingModule(getattr(torch, kind), {"device_count": 2, **answers})

        return Device(SETTINGS, rank)

    return make


def taken(device):
    return [(call.name, call.arguments) for call in device.module.take()]


def test_making_one_touches_nothing(make):
    assert taken(make()) == []


def test_its_life(make):
    device = make(1, get_device_name="a GPU", mem_get_info=(3, 9), memory_reserved=5, memory_allocated=1)
    device.init()
    assert taken(device) == [("device_count", {}), ("set_device", {"device": 1})]
    assert device.get_device_name() == f"a GPU ({device.device_type}:1)"
    assert device.tensor_device == torch.device(device.device_type, 1)
    device.module.take()
    assert device.memory() == MemoryInfo(total=9, free=7)
    assert [name for name, _ in taken(device)] == ["mem_get_info", "memory_reserved", "memory_allocated"]
    device.synchronize()
    device.close()
    assert taken(device) == [("synchronize", {"device": 1}), ("empty_cache", {})]


def test_what_torch_keeps_is_no_more_than_there_is(make):
    device = make(mem_get_info=(8, 9), memory_reserved=5, memory_allocated=0)
    assert device.memory() == MemoryInfo(total=9, free=9)


@pytest.mark.parametrize("count", [0, 2])
def test_a_rank_without_a_device_is_told_what_to_do(make, count):
    with pytest.raises(ConfigError, match=rf"torch sees {count}: use --tensor-parallel-size {max(1, count)}"):
        make(2, device_count=count).init()


def test_seeds(make):
    device = make()
    device.manual_seed(5)
    first = torch.rand(4)
    device.manual_seed(5)
    assert torch.equal(torch.rand(4), first)


def test_graphs_share_a_pool_and_a_stream(make):
    device, ran = make(graph_pool_handle=(4, 2)), []
    graphs = [device.capture(lambda: ran.append(1)), device.capture(lambda: ran.append(2))]
    assert ran == [1, 2]
    calls = device.module.take()
    assert [call.name for call in calls] == [
        *("graph_pool_handle", "Stream"),
        *(device.graph_type, "graph", "graph.__enter__", "graph.__exit__") * 2,
    ]
    recorded = [call.arguments for call in calls if call.name == "graph"]
    assert recorded[0]["pool"] == recorded[1]["pool"] == (4, 2)
    assert recorded[0]["stream"] is recorded[1]["stream"]
    assert "capture_error_mode" not in recorded[0]
    graphs[1]()
    assert [call.name for call in device.module.take()] == [f"{device.graph_type}.replay"]
    assert ran == [1, 2], "a graph is replayed by the device, not by the host"


def test_events(make):
    device = make()
    wait = device.record()
    assert [call.name for call in device.module.take()] == ["Event", "Event.record"]
    wait()
    assert [call.name for call in device.module.take()] == ["Event.synchronize"]


def test_the_peak_is_what_was_taken_beyond_what_was_there(make):
    device = make(1, memory_allocated=100, max_memory_allocated=350)
    device.reset_peak()
    assert device.peak() == 250
    assert taken(device) == [
        ("reset_peak_memory_stats", {"device": 1}),
        ("memory_allocated", {"device": 1}),
        ("max_memory_allocated", {"device": 1}),
    ]


def test_copies_do_not_wait(make):
    class Target:
        def copy_(self, source, non_blocking):
            self.got = (source, non_blocking)

    target = Target()
    make().copy_async("source", target)
    assert target.got == ("source", True)


def test_staging_is_pinned_where_there_is_a_device(make, monkeypatch):
    asked = {}
    monkeypatch.setattr(torch, "empty", lambda shape, **options: asked.update(shape=shape, **options))
    make().empty_pinned([2, 3], torch.int64)
    assert asked == {"shape": (2, 3), "dtype": torch.int64, "pin_memory": True}


def test_weights_move_through_pinned_memory(make):
    device = make()
    device.empty_pinned = lambda shape, dtype: torch.empty(tuple(shape), dtype=dtype)
    weight = torch.arange(5.0)
    before = weight.data_ptr()
    bring_back = device.offload([weight])
    assert weight.data_ptr() != before
    bring_back()
    device.release()
    assert weight.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert taken(device) == [("empty_cache", {})]
