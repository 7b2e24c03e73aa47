"""python -m kernelet_device_triton.aot --write docs/kernels.md [--target sm90 ...] [--package ops-triton ...]"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from kernelet.errors import ConfigError
from kernelet_device_triton.aot.cases import installed
from kernelet_device_triton.aot.report import is_current, page, rows, section, sections
from kernelet_device_triton.interpreter import interpreting
from kernelet_device_triton.targets import REPORTED, TARGETS


def main() -> int:
    """Prints what was compiled, and what would not run; the exit status is 1 if something would not."""
    parser = argparse.ArgumentParser(description="Compile every kernel of the installed packages for every target.")
    parser.add_argument("--write", type=Path, help="write the report here; sections of unchanged sources stay")
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), help="only this one; may be repeated")
    parser.add_argument("--package", action="append", default=[], help="only of this one; may be repeated")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes that compile")
    options = parser.parse_args()
    if options.write and options.target:
        parser.error("the report is of all targets: leave out --target or --write")
    if options.jobs < 1:
        parser.error(f"--jobs {options.jobs}: expected at least 1")
    if options.write and not options.write.parent.is_dir():
        parser.error(f"--write {options.write}: there is no folder {options.write.parent}")
    if interpreting():
        parser.error("TRITON_INTERPRET is set: kernels are interpreted then, and not compiled; unset it")
    try:
        packages = installed(options.package)
    except ConfigError as error:
        parser.error(str(error))
    failed = False
    for kernels in packages:
        if options.write and is_current(kernels, _written(options.write).get(kernels.package, "")):
            sys.stdout.write(f"{kernels.package} is up to date\n")
            continue
        found = list(rows(kernels, options.target or REPORTED, sys.stdout, options.jobs))
        failed |= any(row.problems for row in found)
        if options.write:
            parts = _written(options.write) | {kernels.package: section(kernels, found)}
            options.write.write_text(page(parts[name] for name in sorted(parts)), encoding="utf-8")
    return int(failed)


def _written(path: Path) -> dict[str, str]:
    """Sections of a page that are of installed packages; read again each time, as another process may have written."""
    present = {kernels.package for kernels in installed()}
    parts = sections(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {name: text for name, text in parts.items() if name in present}


if __name__ == "__main__":
    sys.exit(main())
