from __future__ import annotations

import pytest

from kernelet_platform_rocm.facts import capabilities_of
from kernelet_platform_rocm.kfd import Gpu

ALWAYS = {"rocm", "flex", "graphs", "streams"}


def gpu(target, wave=64, memory=1 << 30, units=8):
    return Gpu(uuid="", target=target, memory_bytes=memory, compute_units=units, wave_size=wave)


@pytest.mark.parametrize(
    "target, wave, more",
    [
        ("gfx908", 64, set()),
        ("gfx90a", 64, set()),
        ("gfx942", 64, {"triton", "cdna3", "fp8_fnuz"}),
        ("gfx950", 64, {"triton", "cdna3", "fp8", "fp4"}),
        ("gfx1030", 32, set()),
        ("gfx1100", 32, {"triton"}),
        ("gfx1101", 32, {"triton"}),
        ("gfx1201", 32, {"fp8"}),
    ],
)
def test_by_target(target, wave, more):
    found = capabilities_of([gpu(target, wave)])
    assert found.features == ALWAYS | {target, f"wave{wave}"} | more
    assert found.dtypes[0] == "bfloat16"
    assert found.compute_capability is None, "that is another vendor's number"


def test_of_several_it_is_what_all_can_do():
    found = capabilities_of([gpu("gfx942", 64, 192, 304), gpu("gfx950", 64, 64, 104)])
    assert found.features == ALWAYS | {"triton", "cdna3", "wave64"}
    assert (found.memory_bytes, found.num_compute_units) == (64, 104)


def test_why_there_are_no_kernels_is_said():
    found = capabilities_of([gpu("gfx942"), gpu("gfx90a")])
    ((feature, reason),) = found.lacks
    assert (feature, reason.endswith("and a GPU here is gfx90a")) == ("triton", True)
    assert capabilities_of([gpu("gfx942")]).lacks == ()
