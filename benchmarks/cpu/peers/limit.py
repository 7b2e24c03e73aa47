"""Measures this machine: limit.cpp, compiled for the processor that it runs on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from peers.rows import Machine

BUFFER_MIB = 1024
"""Far more than any cache holds."""

MILLIONS = 20
"""Turns of twelve multiply-adds: about a tenth of a second."""


def measure(
    threads: int, folder: Path, rounds: int = 3, buffer_mib: int = BUFFER_MIB, millions: int = MILLIONS
) -> Machine:
    """The best of some rounds of streaming reads and multiply-adds.

    Raises:
        FileNotFoundError: no C++ compiler is here.
    """
    program = compiled(folder)
    command = [str(program), *map(str, (threads, buffer_mib, millions, rounds))]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return Machine(bandwidth=found["bandwidth"], rates=found["rates"])


def compiled(folder: Path) -> Path:
    """The program, built anew: it is quick, and the processor may be another one than last time."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise FileNotFoundError("the limit is measured by a C++ program: install a compiler (CXX names it)")
    folder.mkdir(parents=True, exist_ok=True)
    source, program = Path(__file__).with_name("limit.cpp"), folder / "limit"
    flags = ["-std=c++20", "-O3", "-march=native", "-pthread"]
    subprocess.run([compiler, *flags, str(source), "-o", str(program)], check=True)
    return program
