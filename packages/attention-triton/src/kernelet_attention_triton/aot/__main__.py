"""python -m kernelet_attention_triton.aot --write docs/kernels.md [--target sm90 ...]"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kernelet_attention_triton.aot.report import digest, page, rows
from kernelet_attention_triton.targets import REPORTED, TARGETS


def main() -> int:
    """Prints what would not run; the exit status is 1 if something would not."""
    parser = argparse.ArgumentParser(description="Compile every kernel for every target.")
    parser.add_argument("--write", type=Path, help="write the report here, unless it is of these sources already")
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), help="only this one; may be repeated")
    options = parser.parse_args()
    if options.write and options.write.exists() and digest() in options.write.read_text(encoding="utf-8"):
        sys.stdout.write(f"{options.write} is up to date\n")
        return 0
    found = list(rows(options.target or REPORTED, sys.stdout))
    if options.write:
        options.write.write_text(page(found), encoding="utf-8")
    return int(any(row.problems for row in found))


if __name__ == "__main__":
    sys.exit(main())
