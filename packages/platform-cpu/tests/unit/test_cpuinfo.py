from __future__ import annotations

import pytest

from kernelet_platform_cpu import cpuinfo

X86 = """processor\t: 0
model name\t: Some Processor
flags\t\t: fpu avx2 avx512f avx512_bf16

processor\t: 1
flags\t\t: fpu
"""
ARM = "processor\t: 0\nFeatures\t: fp asimd asimdhp bf16 i8mm\n"


@pytest.fixture
def write(tmp_path):
    def make(text):
        path = tmp_path / "cpuinfo"
        path.write_text(text, encoding="utf-8")
        return path

    return make


def test_x86(write):
    path = write(X86)
    flags = cpuinfo.cpu_flags(path)
    assert flags == {"fpu", "avx2", "avx512f", "avx512_bf16"}
    assert cpuinfo.cpu_model(path) == "Some Processor"
    assert cpuinfo.features(flags) == {"cpu", "flex", "avx2", "avx512f", "avx512_bf16"}
    assert cpuinfo.code_path(flags) == "avx2 avx512f avx512_bf16"


def test_arm(write):
    flags = cpuinfo.cpu_flags(write(ARM))
    assert cpuinfo.dtypes(flags)[0] == "bfloat16"
    assert cpuinfo.cpu_model(write(ARM)) == "CPU"


@pytest.mark.parametrize("flags, first", [({"avx2"}, "float32"), (set(), "float32"), ({"amx_bf16"}, "bfloat16")])
def test_sixteen_bits_lead_only_with_hardware(flags, first):
    names = cpuinfo.dtypes(frozenset(flags))
    assert names[0] == first
    assert set(names) == {"float64", "float32", "bfloat16", "float16"}
    assert cpuinfo.multiplies_bfloat16(frozenset(flags)) == (first == "bfloat16")


def test_no_cpuinfo(tmp_path):
    assert cpuinfo.cpu_flags(tmp_path / "absent") == frozenset()
    assert cpuinfo.features(frozenset()) == {"cpu", "flex"}
    assert cpuinfo.code_path(frozenset()) == "baseline"
