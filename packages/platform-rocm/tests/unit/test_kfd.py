from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernelet.errors import ConfigError
from kernelet_platform_rocm.kfd import Gpu, NoDriverError, look_up, names, visible_gpus, visible_values


def test_facts_of_gpus(machine, mi300, rdna3):
    machine(mi300(0x1234567890ABCDEF), rdna3)
    assert look_up() == (
        Gpu(uuid="GPU-1234567890abcdef", target="gfx942", memory_bytes=192 << 30, compute_units=304, wave_size=64),
        Gpu(uuid="GPU-0000000000000007", target="gfx1100", memory_bytes=192 << 30, compute_units=96, wave_size=32),
    )


@pytest.mark.parametrize(
    "version, target",
    [(90010, "gfx90a"), (90402, "gfx942"), (90500, "gfx950"), (110003, "gfx1103"), (120001, "gfx1201")],
)
def test_targets(machine, mi300, version, target):
    machine(mi300(gfx_target_version=version))
    assert look_up()[0].target == target


def test_gpus_are_counted_as_numbers_and_not_as_names(machine, mi300):
    machine(*(mi300(number) for number in range(1, 12)))
    assert [int(gpu.uuid[-2:], 16) for gpu in look_up()] == list(range(1, 12))


def test_a_gpu_of_another_container_is_passed_over(machine, mi300):
    nodes = machine(mi300(1), mi300(2))
    (nodes / "1" / "properties").unlink()
    assert [gpu.uuid[-1] for gpu in look_up()] == ["2"]


def test_a_line_that_is_no_number_is_passed_over(machine, mi300):
    file = machine(mi300(1)) / "1" / "properties"
    file.write_bytes("caf\xe9 1\nwave_front_size \xb2\nname MI300\n".encode("latin1") + file.read_bytes())
    assert [(gpu.target, gpu.wave_size) for gpu in look_up()] == [("gfx942", 64)]


def test_no_driver(tmp_path):
    with pytest.raises(NoDriverError, match=r"no AMD GPU driver is loaded: there is no .*nodes"):
        look_up(tmp_path / "nodes", tmp_path / "kfd")
    assert issubclass(NoDriverError, ConfigError)


def test_a_user_who_may_not(machine, mi300):
    machine(mi300(1), device=False)
    with pytest.raises(NoDriverError, match=r"there is gfx942, but this user may not open .*kfd: join its group"):
        look_up()


def test_a_processor_alone(machine):
    machine(device=False)
    assert look_up() == ()


@pytest.mark.parametrize(
    "variables, seen",
    [
        ({}, "1234"),
        ({"rocr": "2,0"}, "31"),
        ({"rocr": ""}, ""),
        ({"hip": ""}, ""),
        ({"hip": "1"}, "2"),
        ({"rocr": "2,0", "hip": "1"}, "1"),
        ({"rocr": "2,0", "hip": "2"}, ""),
        ({"rocr": "GPU-0000000000000004,1"}, "42"),
        ({"hip": "GPU-0000000000000004"}, "4"),
        ({"rocr": "0", "hip": "GPU-0000000000000004"}, ""),
        ({"cuda": "3"}, "4"),
        ({"cuda": "3", "hip": "0"}, "1"),
        ({"rocr": "3,2", "cuda": "1"}, "3"),
        ({"rocr": "0,0"}, ""),
    ],
)
def test_what_a_process_sees(machine, mi300, variables, seen):
    machine(*(mi300(number) for number in range(1, 5)), **variables)
    assert "".join(gpu.uuid[-1] for gpu in visible_gpus(look_up(), visible_values())) == seen


def test_a_gpu_without_an_id_has_a_position(machine, mi300):
    machine(mi300(0), mi300(0))
    gpus = look_up()
    assert [gpu.uuid for gpu in gpus] == ["", ""]
    assert visible_gpus(gpus, {"HIP_VISIBLE_DEVICES": "1"}) == gpus[1:]
    assert visible_gpus(gpus, {"HIP_VISIBLE_DEVICES": "GPU-1"}) == ()


def test_names(machine, mi300, rdna3):
    machine(mi300(1), rdna3, mi300(2))
    assert names(look_up()) == "2 x gfx942, gfx1100"


def test_where_the_kernel_writes():
    topology, device = look_up.__defaults__
    assert (topology, device) == (Path("/sys/class/kfd/kfd/topology/nodes"), Path("/dev/kfd"))
    assert os.access(device.parent, os.F_OK)
