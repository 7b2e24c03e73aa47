"""Runs the matrix, prints its table, writes docs/matrix.md. Exit status 1: a row is red.

python tests/matrix/run.py [--only TEXT] [--no-write]
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
    from matrix_page import PAGE, page, table
    from matrix_rows import read
    from matrix_runner import Runner

    parser = argparse.ArgumentParser(description="Run the matrix of plugin sets.")
    parser.add_argument("--only", default="", help="rows whose name holds this text; nothing is written")
    parser.add_argument("--no-write", action="store_true", help="leave docs/matrix.md as it is")
    options = parser.parse_args()
    matrix = read()
    rows = [row for row in matrix.rows if options.only in row.name]
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
    elif not options.only and not options.no_write:
        PAGE.write_text(page(matrix, runner.verdicts), encoding="utf-8")
    return int(bool(red))


if __name__ == "__main__":
    sys.exit(main())
