"""The report of all compilations, as a page."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import triton

from kernelet_attention_triton.aot.cases import Case, cases
from kernelet_attention_triton.aot.compiling import Reading, compiled, expected, problems
from kernelet_attention_triton.targets import TARGETS, Target

HEAD = """# Kernels, compiled ahead of time

Written by `python -m kernelet_attention_triton.aot --write docs/kernels.md`; of the sources {digest}.

Every kernel of `attention-triton` in every configuration, compiled to the last step for each target on a machine that
has none of them, with triton {version}. That it compiles, fits into the target's registers and shared memory, and uses
the matrix unit is checked; that it is right is checked in the interpreter. How fast it is nobody knows before it ran on
a device: none of these has.

A layer is dtype, query heads that share a key head x head size, and what its cache is kept in. A tile is rows (queries
times these heads) x keys. Spills are bytes a thread. No default configuration (the first two layers) spills on sm90 and
gfx942; all other limits are held in every row.
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
        tile = str(self.case.chosen.block_m)
        if "block_n" in self.case.constants:
            tile += f" x {self.case.chosen.block_n}"
        numbers = (self.read.registers, self.read.spills, self.read.shared_bytes)
        matrix = (", ".join(self.read.matrix), expected(self.case, self.target))
        return (self.case.kernel, str(self.case.shape), tile, *map(str, numbers), *matrix)


def digest() -> str:
    """Of everything that the report depends on."""
    here = Path(__file__).parent.parent
    paths = [*sorted(here.glob("device/*.py")), *sorted(here.glob("aot/*.py")), here / "configurations.py"]
    texts = [path.read_bytes() for path in (*paths, here / "targets.py")]
    return hashlib.sha256(b"".join((triton.__version__.encode(), *texts))).hexdigest()[:16]


def rows(names: Iterable[str], out: TextIO) -> Iterator[Row]:
    """Compiles; says what has problems as soon as it is known."""
    for name in names:
        target = TARGETS[name]
        for case in cases(target):
            read = compiled(case, target)
            found = problems(case, target, read)
            row = Row(target=target, case=case, read=read, problems=tuple(found))
            out.write(f"{name} {' | '.join(row.cells)} {'PROBLEM: ' if found else ''}{'; '.join(found)}\n")
            out.flush()
            yield row


def page(found: Iterable[Row]) -> str:
    """The report."""
    lines, last = [HEAD.format(digest=digest(), version=triton.__version__)], ""
    for row in found:
        if row.target.name != last:
            last = row.target.name
            limits = f"{row.target.max_registers} registers, {row.target.shared_bytes} bytes of shared memory"
            lines += [f"\n## {last}\n\n{limits}.\n", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
        lines.append(f"| {' | '.join(row.cells)} |")
    return "\n".join(lines) + "\n"
