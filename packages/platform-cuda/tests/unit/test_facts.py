from __future__ import annotations

import pytest

from kernelet_platform_cuda.facts import capabilities_of
from kernelet_platform_cuda.nvml import Gpu


def gpu(version, memory=1 << 30, multiprocessors=8):
    return Gpu(uuid="GPU-1", name="x", compute_capability=version, memory_bytes=memory, multiprocessors=multiprocessors)


@pytest.mark.parametrize(
    "version, dtype, more",
    [
        ((7, 5), "float16", set()),
        ((8, 0), "bfloat16", {"triton"}),
        ((8, 6), "bfloat16", {"triton"}),
        ((13, 0), "bfloat16", {"fp8", "fp4"}),
        ((8, 9), "bfloat16", {"triton", "fp8"}),
        ((9, 0), "bfloat16", {"triton", "fp8"}),
        ((10, 0), "bfloat16", {"triton", "fp8", "fp4"}),
        ((12, 0), "bfloat16", {"triton", "fp8", "fp4"}),
    ],
)
def test_by_compute_capability(version, dtype, more):
    found = capabilities_of([gpu(version)])
    assert found.features == {"cuda", "flex", "graphs", "streams"} | more
    assert found.dtypes[0] == dtype
    assert ("bfloat16" in found.dtypes) == (version >= (8, 0))
    assert found.compute_capability == version


def test_of_several_it_is_what_all_can_do():
    found = capabilities_of([gpu((9, 0), 80, 132), gpu((8, 0), 40, 108), gpu((8, 9), 24, 142)])
    assert (found.compute_capability, found.memory_bytes, found.num_compute_units) == ((8, 0), 24, 108)
    assert "fp8" not in found.features


def test_why_there_are_no_kernels_is_said():
    found = capabilities_of([gpu((9, 0)), gpu((7, 5))])
    ((feature, reason),) = found.lacks
    assert (feature, reason.endswith("and a GPU here is sm75")) == ("triton", True)
    assert capabilities_of([gpu((9, 0))]).lacks == ()
