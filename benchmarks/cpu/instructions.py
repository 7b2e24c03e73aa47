"""Counts the instructions of the native kernels, by callgrind: the figure that other processes do not disturb.

Prints a table of kernel, instruction set and rows: instructions a multiply-add, and the floor, which is what the vector
instructions for the multiply-adds alone would be. Callgrind knows no AVX-512, so `portable` and `avx2` are counted.
Kernels run on one thread, in the shapes of the demo model (a weight of 1536 x 576; 9 heads of 64, 3 of them in the
cache).

python benchmarks/cpu/instructions.py [--isas avx2] [--rows 1,12,64] [--native FILE] [--json]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from counting.callgrind import Probe, compiled_probe, run
from counting.cases import cases, floor

ISAS = ("portable", "avx2")
NOTHING = "nothing"
"""The case that does nothing: what the marks themselves cost."""


def load(path: str | None) -> Any:
    """The native module: that of the installed platform-cpu, or of a build."""
    if path is None:
        return importlib.import_module("kernelet_platform_cpu._native")
    spec = importlib.util.spec_from_file_location("_native", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def name_of(case: Mapping[str, Any]) -> str:
    return f"{case['kernel']} | {case['rows']}"


def drive(isa: str, probe: Path, rows: tuple[int, ...], native_path: str | None) -> None:
    """What runs under callgrind; prints what was run."""
    native = load(native_path)
    native.choose_isa(isa)
    native.start_pool(1, [])
    marks = Probe(probe)
    marks.count(NOTHING, lambda: None)
    for case in cases(native, rows):
        about = {"kernel": case.kernel, "isa": isa, "rows": case.rows, "work": case.work, "floor": floor(isa, case)}
        marks.count(name_of(about), case.call)
        print(json.dumps(about))


def measure(isa: str, rows: tuple[int, ...], native_path: str | None) -> list[dict[str, Any]]:
    """All cases of one instruction set."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        probe = compiled_probe(folder)
        arguments = [__file__, "--drive", str(probe), "--isas", isa, "--rows", ",".join(map(str, rows))]
        arguments += ["--native", native_path] if native_path else []
        printed, counted = run(arguments, folder)
    return [row_of(json.loads(line), counted) for line in printed.splitlines()]


def row_of(about: dict[str, Any], counted: Mapping[str, int]) -> dict[str, Any]:
    """One case's figures."""
    instructions = counted[name_of(about)] - counted[NOTHING]
    each = instructions / about["work"]
    return {**about, "instructions": instructions, "each": each, "of_floor": each / about["floor"]}


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """For people."""
    lines = [
        f"{'kernel':<36}{'isa':<10}{'rows':>5}{'instructions':>15}{'a multiply-add':>16}{'floor':>9}{'x floor':>9}"
    ]
    for row in rows:
        start = f"{row['kernel']:<36}{row['isa']:<10}{row['rows']:>5}{row['instructions']:>15,}"
        lines.append(f"{start}{row['each']:>16.4f}{row['floor']:>9.4f}{row['of_floor']:>9.2f}")
    return "\n".join(lines)


def numbers(text: str) -> tuple[int, ...]:
    """A comma-separated list of numbers of at least 1."""
    found = tuple(int(part) for part in text.split(","))
    if min(found) < 1:
        raise argparse.ArgumentTypeError(f"{text}: rows are at least 1")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--isas", default=",".join(ISAS), metavar="NAMES", help="comma-separated (default: %(default)s)"
    )
    parser.add_argument("--rows", type=numbers, default=(1, 16, 64), metavar="N,...", help="default: 1,16,64")
    parser.add_argument("--native", metavar="FILE", help="a build of the extension; default: the installed one")
    parser.add_argument("--json", action="store_true", help="one object")
    parser.add_argument("--drive", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        drive(options.isas, options.drive, options.rows, options.native)
        return 0
    found = [row for isa in options.isas.split(",") for row in measure(isa, options.rows, options.native)]
    print(json.dumps(found) if options.json else table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
