from __future__ import annotations

import sys

import pynvml
import pytest
from fake_nvml import H100, T4, part

from kernelet.errors import ConfigError
from kernelet_platform_cuda import nvml
from kernelet_platform_cuda.nvml import NoDriverError, look_up, names, visible_gpus, visible_value

DIVIDED = {**H100, "uuid": "GPU-99999999-divided", "parts": (part(1), part(2))}


def seen(value):
    return [gpu.uuid for gpu in visible_gpus(look_up(), value)]


def test_the_double_takes_what_the_library_takes(signatures):
    ours, theirs = signatures
    assert len(ours) == len([name for name in theirs if name != "version"])


def test_facts_of_gpus(machine):
    fake = machine(H100, T4)
    found = look_up()
    assert found.driver == "580.1"
    first, second = found.gpus
    assert (first.name, first.compute_capability, first.memory_bytes) == ("NVIDIA H100", (9, 0), 80 << 30)
    assert (first.multiprocessors, second.multiprocessors) == (132, 40)
    assert not first.divided
    assert fake.open == 0, "the library is left as it was found"


def test_a_driver_that_does_not_count_cores(machine):
    without = {name: value for name, value in H100.items() if name != "cores"}
    machine(without)
    assert look_up().gpus[0].multiprocessors == 1


def test_a_gpu_without_memory_of_its_own_has_the_hosts(machine):
    machine({**H100, "name": "NVIDIA GB10", "capability": (12, 1), "memory": None})
    (gpu,) = look_up().gpus
    assert gpu.memory_bytes > 1 << 28
    assert gpu.compute_capability == (12, 1)


def test_a_user_who_may_not_ask_for_mig_mode(machine):
    machine({**H100, "may_not_ask": True})
    assert not look_up().gpus[0].divided


def test_a_lost_gpu_matters_where_it_is_seen(machine):
    machine(H100, {"error": pynvml.NVMLError_GpuIsLost()}, T4)
    assert seen("0,2") == [H100["uuid"], T4["uuid"]]
    for value in (None, "2,1"):
        with pytest.raises(NoDriverError, match=r"^GPU 1 does not answer \(GPU is lost\): leave it out of CUDA_VIS"):
            seen(value)


@pytest.mark.parametrize(
    "value, wanted",
    [
        (None, [H100["uuid"], T4["uuid"], "MIG-1111-part"]),
        ("", []),
        ("1,0", [T4["uuid"], H100["uuid"]]),
        ("2", ["MIG-1111-part"]),
        ("GPU-1111", [T4["uuid"]]),
        ("0,GPU-1111,9,2", [H100["uuid"], T4["uuid"]]),
        ("MIG-2111-part", ["MIG-2111-part"]),
        ("MIG-2,MIG-1", ["MIG-2111-part"]),  # a process sees one instance at most
        ("MIG-7", []),
        ("1,1", []),
    ],
)
def test_what_a_process_sees(machine, value, wanted):
    machine(H100, T4, DIVIDED)
    assert seen(value) == wanted


def test_a_divided_gpu_without_instances_is_not_seen(machine):
    machine({**DIVIDED, "parts": ()})
    assert seen(None) == []
    assert look_up().gpus[0].divided


def test_facts_of_an_instance(machine):
    machine(DIVIDED)
    (one,) = visible_gpus(look_up(), "MIG-2")
    assert (one.compute_capability, one.memory_bytes, one.multiprocessors) == ((9, 0), 10 << 30, 16)


def test_no_driver(machine):
    machine(error=pynvml.NVMLError_LibraryNotFound())
    with pytest.raises(NoDriverError, match="no NVIDIA driver answers: NVML Shared Library Not Found"):
        look_up()
    assert issubclass(NoDriverError, ConfigError)


def test_a_driver_that_fails_in_between(machine, monkeypatch):
    fake = machine(H100)

    def fails():
        raise pynvml.NVMLError_DriverNotLoaded

    monkeypatch.setattr(fake, "nvmlDeviceGetCount", fails)
    with pytest.raises(NoDriverError, match="failed to say what GPUs there are"):
        look_up()
    assert fake.open == 0


def test_no_library(monkeypatch):
    monkeypatch.setattr(nvml, "find_spec", lambda name: None)
    with pytest.raises(NoDriverError, match="pip install nvidia-ml-py"):
        look_up()


def test_the_variable(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert visible_value() == "3"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert visible_value() is None


def test_names(machine):
    machine(H100, T4, H100)
    assert names(look_up().gpus) == "2 x NVIDIA H100, Tesla T4"
    assert "pynvml" in sys.modules
