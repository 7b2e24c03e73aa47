from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from kernelet_attention_triton.aot.cases import cases
from kernelet_attention_triton.aot.compiling import Reading, expected, problems
from kernelet_attention_triton.targets import TARGETS

COMPILE = """
import json, sys
from dataclasses import asdict
from kernelet_attention_triton.aot.cases import cases
from kernelet_attention_triton.aot.compiling import compiled, problems
from kernelet_attention_triton.targets import TARGETS
for name in sys.argv[1:]:
    case = next(one for one in cases(TARGETS[name]) if one.kernel == "attend, decode")
    read = compiled(case, TARGETS[name])
    print(json.dumps({**asdict(read), "problems": problems(case, TARGETS[name], read)}))
"""
GOOD = Reading(registers=100, spills=0, shared_bytes=1000, matrix=("mma.sync", "wgmma.mma_async"))


@pytest.mark.long
def test_decode_compiles_on_a_machine_without_the_device(tmp_path):
    """The interpreter is chosen when the language is imported, so another process compiles."""
    variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    variables["TRITON_CACHE_DIR"] = str(tmp_path)
    command = [sys.executable, "-W", "error", "-c", COMPILE, "sm90", "gfx942"]
    run = subprocess.run(command, env=variables, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    first, second = map(json.loads, run.stdout.splitlines())
    assert (first["matrix"], second["matrix"]) == (["mma.sync"], ["v_mfma_"])
    for read in (first, second):
        assert read["problems"] == []
        assert 16 < read["registers"] <= 512
        assert read["shared_bytes"] > 1000


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
    target = TARGETS["sm90"]
    case = next(one for one in cases(target) if one.kernel == "attend, prefill")
    assert problems(case, target, replace(GOOD, **change)) == ([says] if says else [])


def test_which_matrix_instruction_is_expected():
    for name, large, small in (("sm90", "wgmma.mma_async", "mma.sync"), ("gfx942", "v_mfma_", "v_mfma_")):
        found = {case.kernel: expected(case, TARGETS[name]) for case in cases(TARGETS[name]) if case.shape.is_default}
        assert (found["attend, prefill"], found["attend, decode"], found["merge"]) == (large, small, "")
