"""The report of all compilations, as a page with a section a package."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from typing import TextIO

import triton

from kernelet_device_triton.aot.cases import Case, Kernels
from kernelet_device_triton.aot.compiling import Reading, compiled, expected, problems
from kernelet_device_triton.targets import TARGETS, Target

COMMAND = "python -m kernelet_device_triton.aot --write docs/kernels.md"
HEAD = """# Kernels, compiled ahead of time

Written by `{command}`.

Every kernel of each package in every configuration, compiled to the last step for each target on a machine that has
none of them, with triton {version}. That it compiles, fits into the target's registers and shared memory, and uses the
matrix unit is checked; that it is right is checked in the interpreter. How fast it is nobody knows before it ran on a
device.

A layer says dtype and sizes, a tile how a program is cut; the README of the package explains both. Spills are bytes a
thread; no default configuration spills on sm90 and gfx942. All other limits are held in every row.
"""
COLUMNS = ("kernel", "layer", "tile", "registers", "spills", "shared", "matrix unit", "expected")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One compilation of the report."""

    target: Target
    case: Case
    read: Reading
    problems: tuple[str, ...]

    @property
    def cells(self) -> tuple[str, ...]:
        numbers = (self.read.registers, self.read.spills, self.read.shared_bytes)
        matrix = (", ".join(self.read.matrix), expected(self.case, self.target))
        return (self.case.kernel, self.case.layer, self.case.tile, *map(str, numbers), *matrix)


def rows(kernels: Kernels, names: Iterable[str], out: TextIO, jobs: int = 1) -> Iterator[Row]:
    """Compiles; says what has problems as soon as it is known.

    Args:
        kernels: Of a package, whose ``cases`` other processes can import.
        names: Of targets.
        out: What is said goes here.
        jobs: Processes that compile.
    """
    todo = [(name, index, case) for name in names for index, case in enumerate(kernels.cases(TARGETS[name]))]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        readings = pool.map(_read, *zip(*((kernels.cases, name, index) for name, index, _ in todo), strict=True))
        for (name, _, case), read in zip(todo, readings, strict=True):
            found = problems(case, TARGETS[name], read)
            row = Row(target=TARGETS[name], case=case, read=read, problems=tuple(found))
            out.write(f"{name} {' | '.join(row.cells)} {'PROBLEM: ' if found else ''}{'; '.join(found)}\n")
            out.flush()
            yield row


def _read(cases: Callable[[Target], Iterator[Case]], name: str, index: int) -> Reading:
    return compiled(next(islice(cases(TARGETS[name]), index, None)), TARGETS[name])


def section(kernels: Kernels, found: Iterable[Row]) -> str:
    """The part of the page that a package has."""
    lines, last = [], ""
    for row in found:
        if row.target.name != last:
            last = row.target.name
            limits = f"{row.target.max_registers} registers, {row.target.shared_bytes} bytes of shared memory"
            lines += [f"\n### {last}\n\n{limits}.\n", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
        lines.append(f"| {' | '.join(row.cells)} |")
    return _headed(kernels, "\n".join(lines) + "\n")


def is_current(kernels: Kernels, text: str) -> bool:
    """Whether a section is of the package's sources, and as it was written."""
    return text == _headed(kernels, "\n" + text.partition("\n\n")[2].partition("\n\n")[2])


def _headed(kernels: Kernels, tables: str) -> str:
    digest = hashlib.sha256(tables.encode()).hexdigest()[:16]
    return f"## {kernels.package}\n\nOf the sources {kernels.digest}; the tables are {digest}.\n{tables}"


def sections(page: str) -> dict[str, str]:
    """The parts of a page that was written, by package."""
    parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0].removeprefix("## "): part.rstrip() + "\n" for part in parts}


def page(parts: Iterable[str]) -> str:
    """The whole page."""
    return "\n".join([HEAD.format(command=COMMAND, version=triton.__version__), *parts])
