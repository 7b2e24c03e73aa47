from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from kernelet_device_triton.aot.cases import Case
from kernelet_device_triton.aot.compiling import Reading, expected, problems
from kernelet_device_triton.targets import TARGETS

KERNEL = """
import json, sys
from dataclasses import asdict

import triton
import triton.language as tl

from kernelet_device_triton.aot.cases import Case
from kernelet_device_triton.aot.compiling import compiled, problems
from kernelet_device_triton.targets import TARGETS

@triton.jit
def product(a, b, out, size: tl.constexpr):
    row, column = tl.arange(0, size)[:, None], tl.arange(0, size)[None, :]
    x, y = tl.load(a + row * size + column), tl.load(b + row * size + column)
    tl.store(out + row * size + column, tl.dot(x, y))

case = Case(
    kernel="product", function=product, layer="", tile="", constants={"size": 16}, matrix="small", is_default=True,
    types={"a": "*bf16", "b": "*bf16", "out": "*fp32"},
)
for name in sys.argv[1:]:
    read = compiled(case, TARGETS[name])
    print(json.dumps({**asdict(read), "problems": problems(case, TARGETS[name], read)}))
"""
CASE = Case(kernel="product", function=None, layer="", tile="", constants={}, types={}, is_default=True, matrix="large")
GOOD = Reading(registers=100, spills=0, shared_bytes=1000, matrix=("mma.sync", "wgmma.mma_async"))


def test_a_product_compiles_on_a_machine_without_the_device(tmp_path):
    """The interpreter is chosen when the language is imported, so another process compiles."""
    (tmp_path / "kernel.py").write_text(KERNEL, encoding="utf-8")
    variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    variables["TRITON_CACHE_DIR"] = str(tmp_path)
    command = [sys.executable, "-W", "error", str(tmp_path / "kernel.py"), "sm90", "gfx942"]
    run = subprocess.run(command, env=variables, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    first, second = map(json.loads, run.stdout.splitlines())
    assert (first["matrix"], second["matrix"]) == (["mma.sync"], ["v_mfma_"])
    for read in (first, second):
        assert read["problems"] == []
        assert 8 <= read["registers"] <= 512


@pytest.mark.parametrize(
    "change, says",
    [
        ({}, ""),
        ({"shared_bytes": 232449}, "232449 bytes of shared memory, of 232448"),
        ({"registers": 256}, "256 registers, of 255"),
        ({"spills": 8}, "8 bytes spilled"),
        ({"matrix": ("mma.sync",)}, "no wgmma.mma_async"),
    ],
)
def test_what_does_not_run_is_a_problem(change, says):
    assert problems(CASE, TARGETS["sm90"], replace(GOOD, **change)) == ([says] if says else [])


def test_spills_are_no_problem_where_nothing_was_tuned():
    spilled = replace(GOOD, spills=8)
    assert problems(replace(CASE, is_default=False), TARGETS["sm90"], spilled) == []
    assert problems(CASE, TARGETS["sm120"], spilled) == []


@pytest.mark.parametrize(
    "target, large, small", [("sm90", "wgmma.mma_async", "mma.sync"), ("gfx942", "v_mfma_", "v_mfma_")]
)
def test_which_matrix_instruction_is_expected(target, large, small):
    found = [expected(replace(CASE, matrix=size), TARGETS[target]) for size in ("large", "small", "")]
    assert found == [large, small, ""]
