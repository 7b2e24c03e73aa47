"""Runs the matrix, prints its table, writes docs/matrix.md. Exit status 1: a row is red, or was never run.

python tests/matrix/run.py [--only TEXT] [--no-write]

Of rows that were not run (not among those of ``--only``, or a library that they need is not installed) the page keeps
what it says.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from functools import cache
from pathlib import Path


def main() -> int:
    sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
    from environments import build_wheel
    from matrix_page import PAGE, cell, known, page, table
    from matrix_rows import REFUSED, read
    from matrix_runner import Runner

    parser = argparse.ArgumentParser(description="Run the matrix of plugin sets.")
    parser.add_argument("--only", default="", help="rows whose name holds this text, and their reference rows")
    parser.add_argument("--no-write", action="store_true", help="leave docs/matrix.md as it is")
    options = parser.parse_args()
    matrix = read()
    wanted = [row for row in matrix.rows if options.only in row.name and not row.missing]
    truths = {row.name if row.shows == REFUSED else matrix.reference_of(row).name for row in wanted}
    rows = [row for row in matrix.rows if row in wanted or row.name in truths]
    with tempfile.TemporaryDirectory(prefix="kernelet-matrix-") as folder:
        build = cache(lambda project: build_wheel(project, Path(folder) / "wheels" / project.name))
        runner = Runner(matrix, Path(folder), build)
        for number, row in enumerate(rows, start=1):
            started = time.perf_counter()
            verdict = runner.verdict(row)
            print(f"[{number}/{len(rows)}] {row.name}: {verdict} ({time.perf_counter() - started:.1f} s)", flush=True)
    print("\n" + table(matrix, runner.verdicts))
    red = [row.name for row in rows if runner.verdicts[row.name].red]
    if red:
        print(f"\nred: {', '.join(red)}", file=sys.stderr)
        return 1
    seen = known(matrix, PAGE.read_text(encoding="utf-8"))
    seen |= {row.name: cell(str(runner.verdicts[row.name])) for row in rows}
    never = [row.name for row in matrix.rows if row.name not in seen]
    if never:
        print(f"\nnever run, so the page stays as it is: {', '.join(never)}", file=sys.stderr)
    elif not options.no_write:
        PAGE.write_text(page(matrix, seen), encoding="utf-8")
    return int(bool(never))


if __name__ == "__main__":
    sys.exit(main())
