"""A stand-in for torch's device modules takes what torch takes, so that a GPU platform can be tested without a GPU.

The device below is written as one for GPUs is: all that it asks of torch goes through the module of its device.
"""

from __future__ import annotations

import inspect
import types

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import Device, MemoryInfo
from kernelet.testing.platform import Call, RecordingDevice, RecordingModule

SETTINGS = Settings(plugin="platform-test")
MODULES = (torch.cuda, torch.xpu, torch.mps, torch.cpu, torch.accelerator)
NAMES = (
    *("set_device", "set_device_index", "current_device", "device_count", "is_available", "is_initialized", "init"),
    *("get_device_name", "get_device_properties", "get_device_capability", "synchronize", "empty_cache"),
    *("mem_get_info", "get_memory_info", "memory_stats", "memory_allocated", "max_memory_allocated"),
    *("reset_peak_memory_stats", "set_per_process_memory_fraction", "recommended_max_memory"),
    *("current_allocated_memory", "driver_allocated_memory", "manual_seed", "manual_seed_all", "get_rng_state"),
    *("Stream", "Event", "stream", "current_stream", "set_stream", "graph", "CUDAGraph", "XPUGraph", "Graph"),
    *("graph_pool_handle", "device_index"),
)
PAIRS = [(module, name) for module in MODULES for name in NAMES if hasattr(module, name)]


def test_every_module_has_what_a_device_needs():
    counts = {module.__name__: sum(module is other for other, _ in PAIRS) for module in MODULES}
    assert min(counts.values()) >= 8
    assert counts["torch.cuda"] >= 25


@pytest.mark.parametrize("module, name", PAIRS, ids=[f"{module.__name__}.{name}" for module, name in PAIRS])
def test_arguments_are_those_of_torch(module, name):
    real = inspect.signature(getattr(module, name))
    fake = RecordingModule(module, {name: "answer"})
    needed = [
        parameter
        for parameter in real.parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}
    ]
    assert getattr(fake, name)(*range(len(needed))) == "answer"
    assert fake.take() == [Call(name, {parameter.name: index for index, parameter in enumerate(needed)})]
    kinds = {parameter.kind for parameter in real.parameters.values()}
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        with pytest.raises(TypeError, match=rf"{module.__name__}\.{name}"):
            getattr(fake, name)(*range(len(real.parameters) + 1))
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        with pytest.raises(TypeError, match=rf"{module.__name__}\.{name}"):
            getattr(fake, name)(*range(len(needed)), no_such_argument=1)
    if needed:
        with pytest.raises(TypeError, match=rf"{module.__name__}\.{name}"):
            getattr(fake, name)()
    assert fake.calls == [], "a refused call is none"


class TorchDevice(Device):
    """A device of torch with streams and graphs."""

    def __init__(self, settings: Settings, local_rank: int, module, graph: str) -> None:
        self.module, self.index, self.graph_class = module, local_rank, graph

    def init(self) -> None:
        self.module.set_device(self.index)
        self.module.empty_cache()
        self.side = self.module.Stream(priority=-1)

    def get_device_name(self) -> str:
        return self.module.get_device_name(self.index)

    @property
    def tensor_device(self):
        return torch.device("cpu")

    def memory(self) -> MemoryInfo:
        free, total = self.module.mem_get_info(self.index)
        return MemoryInfo(total=total, free=free)

    def manual_seed(self, seed: int) -> None:
        self.module.manual_seed(seed)

    def synchronize(self) -> None:
        self.module.synchronize(self.index)

    def copy_async(self, source, destination) -> None:
        with self.module.stream(self.side):
            destination.copy_(source, non_blocking=True)
            event = self.side.record_event()
        self.module.current_stream(self.index).wait_event(event)

    def capture(self, fn):
        graph = getattr(self.module, self.graph_class)()
        with self.module.graph(graph, stream=self.side):
            fn()
        return graph.replay

    def close(self) -> None:
        self.module.empty_cache()


GPUS = [(torch.cuda, "CUDAGraph"), (torch.xpu, "XPUGraph")]


@pytest.mark.parametrize("module, graph", GPUS, ids=["cuda", "xpu"])
def test_a_device_runs_on_the_stand_in_call_by_call(module, graph):
    fake = RecordingModule(module, {"mem_get_info": (3, 7), "get_device_name": "a GPU"})
    device = TorchDevice(SETTINGS, 1, fake, graph)
    assert fake.calls == [], "making a device touches nothing"
    device.init()
    assert device.get_device_name() == "a GPU"
    assert device.memory() == MemoryInfo(total=7, free=3)
    device.manual_seed(5)
    device.synchronize()
    assert [(call.name, call.arguments) for call in fake.take()] == [
        ("set_device", {"device": 1}),
        ("empty_cache", {}),
        ("Stream", {"priority": -1}),
        ("get_device_name", {"device": 1}),
        ("mem_get_info", {"device": 1}),
        ("manual_seed", {"seed": 5}),
        ("synchronize", {"device": 1}),
    ]


@pytest.mark.parametrize("module, graph", GPUS, ids=["cuda", "xpu"])
def test_streams_events_and_graphs_are_objects_of_torch(module, graph):
    fake = RecordingModule(module)
    device = TorchDevice(SETTINGS, 0, fake, graph)
    device.init()
    fake.take()
    source, there = torch.ones(2), torch.zeros(2)
    device.copy_async(source, there)
    assert torch.equal(there, source)
    names = [call.name for call in fake.take()]
    assert names == [
        *("stream", "StreamContext.__enter__", "Stream.record_event", "StreamContext.__exit__"),
        *("current_stream", "Stream.wait_event"),
    ]
    ran = []
    replay = device.capture(lambda: ran.append(1))
    replay()
    assert ran == [1]
    assert [call.name for call in fake.calls] == [
        graph,
        "graph",
        "graph.__enter__",
        "graph.__exit__",
        f"{graph}.replay",
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda fake: fake.synchronize(devices=0),
        lambda fake: fake.mem_get_info(0, 1),
        lambda fake: fake.Stream(0, -1, 5),
        lambda fake: fake.current_stream().wait_event(),
        lambda fake: fake.current_stream().record_event(1, 2),
        lambda fake: fake.Event(enable_timing=True, timing=True),
        lambda fake: fake.manual_seed(),
    ],
)
@pytest.mark.parametrize("module", [torch.cuda, torch.xpu])
def test_a_wrong_call_fails_as_on_the_device(module, wrong):
    with pytest.raises(TypeError):
        wrong(RecordingModule(module))


def test_names_that_one_device_has_and_another_has_not():
    with pytest.raises(AttributeError):
        RecordingModule(torch.mps).set_device(0)
    with pytest.raises(AttributeError):
        RecordingModule(torch.cuda).Stream().wait_for_event(1)
    with pytest.raises(TypeError):
        RecordingModule(torch.accelerator).get_memory_info(device_index=0)  # by position only


def test_it_can_stand_in_torchs_place(monkeypatch):
    fake = RecordingModule(torch.cuda, {"device_count": 4, "is_available": True})
    monkeypatch.setattr(torch, "cuda", fake)
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 4
    assert [call.name for call in fake.calls] == ["is_available", "device_count"]
    assert isinstance(torch.cuda, RecordingModule)


def test_the_recording_device_has_the_methods_of_the_contract():
    own = {name for name, member in vars(Device).items() if isinstance(member, types.FunctionType | property)}
    assert own <= set(vars(RecordingDevice)), "a method that is not recorded"
    for name in own:
        if name != "tensor_device":
            ours, theirs = (inspect.signature(getattr(kind, name)) for kind in (RecordingDevice, Device))
            assert list(ours.parameters) == list(theirs.parameters), name
