"""Compiles a case, and reads from the result what a program of it would use."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kernelet_device_triton.aot.cases import Case
from kernelet_device_triton.targets import Target

TUNED = frozenset({"sm90", "gfx942"})
"""Targets on which no default configuration spills."""
INSTRUCTIONS = re.compile(r"wgmma\.mma_async|tcgen05\.mma|mma\.sync|v_mfma_|v_wmma_")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What was compiled.

    Attributes:
        registers: Of a thread.
        spills: Bytes that a thread stores because it has no registers left.
        shared_bytes: Of a program.
        matrix: Instructions of matrix units that occur, sorted.
    """

    registers: int
    spills: int
    shared_bytes: int
    matrix: tuple[str, ...]


def compiled(case: Case, target: Target) -> Reading:
    """Compiles to the last step, the target's own code."""
    names = case.function.arg_names
    kinds = {name: case.types.get(name, "constexpr") for name in names}
    aligned = [name for name, kind in kinds.items() if kind.startswith("*") or name.endswith("_stride")]
    source = ASTSource(
        case.function,
        kinds,
        constexprs=dict(case.constants),
        attrs={(names.index(name),): [["tt.divisibility", 16]] for name in aligned},
    )
    options = {"num_warps": case.num_warps, "num_stages": case.num_stages, "enable_fp_fusion": case.fused}
    made = triton.compile(source, target=GPUTarget(target.backend, target.arch, target.warp_size), options=options)
    text = made.asm["amdgcn" if target.backend == "hip" else "ptx"]
    registers, spills = _of_amdgcn(text) if target.backend == "hip" else _of_ptx(text, target)
    return Reading(
        registers=registers,
        spills=spills,
        shared_bytes=made.metadata.shared,
        matrix=tuple(sorted(set(INSTRUCTIONS.findall(text)))),
    )


def problems(case: Case, target: Target, read: Reading) -> list[str]:
    """What of it would not run, or not as it should."""
    found = []
    if read.shared_bytes > target.shared_bytes:
        found.append(f"{read.shared_bytes} bytes of shared memory, of {target.shared_bytes}")
    if read.registers > target.max_registers:
        found.append(f"{read.registers} registers, of {target.max_registers}")
    if case.is_default and read.spills and target.name in TUNED:
        found.append(f"{read.spills} bytes spilled")
    wanted = expected(case, target)
    if wanted and wanted not in read.matrix:
        found.append(f"no {wanted}")
    return found


def expected(case: Case, target: Target) -> str:
    """The matrix instruction that must occur; empty: none must."""
    if not case.matrix:
        return ""
    return target.matrix[0 if case.matrix == "large" else -1]


def _of_ptx(text: str, target: Target) -> tuple[int, int]:
    assert isinstance(target.arch, int)
    newer = target.arch >= 90
    tool = Path(triton.__file__).parent / "backends/nvidia/bin" / ("ptxas-blackwell" if newer else "ptxas")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(text, encoding="utf-8")
        command = [str(tool), "-v", f"--gpu-name=sm_{target.arch}{'a' * newer}", str(path), "-o", f"{folder}/kernel"]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return _number(r"Used (\d+) registers", said), _number(r"(\d+) bytes spill stores", said)


def _of_amdgcn(text: str) -> tuple[int, int]:
    registers = _number(r"\.vgpr_count:\s+(\d+)", text)
    return registers, 4 * _number(r"\.vgpr_spill_count:\s+(\d+)", text)


def _number(pattern: str, text: str) -> int:
    found: Any = re.search(pattern, text)
    assert found, f"the compiler says nothing like {pattern}"
    return int(found[1])
