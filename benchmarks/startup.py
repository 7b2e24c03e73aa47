"""How soon the command line answers: `kernelet --version` and `--help`, the median and the worst of some runs.

python benchmarks/startup.py [--runs 5] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

FLOORS = {"--version": 0.3, "--help": 0.6}
"""Seconds that each may take."""


def seconds(argument: str) -> float:
    """From the start of the process to its end."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "kernelet.cli", argument], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def measure(runs: int) -> list[dict[str, object]]:
    """One row an argument."""
    rows = []
    for argument, floor in FLOORS.items():
        times = [seconds(argument) for _ in range(runs)]
        median = statistics.median(times)
        rows.append(
            {"argument": argument, "median_s": median, "worst_s": max(times), "floor_s": floor, "met": median < floor}
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure(options.runs)
    if options.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            print(
                f"kernelet {row['argument']:<10} median {row['median_s']:.3f} s  worst {row['worst_s']:.3f} s"
                f"  floor {row['floor_s']} s  {'met' if row['met'] else 'MISSED'}"
            )
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
