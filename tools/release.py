"""Releases one package: ``hatch run release PACKAGE VERSION [--dry-run]``.

Checks, edits version and changelog, builds, runs the matrix, commits and tags ``<package>-v<version>``. Nothing leaves
this machine. Whatever fails, the tree is as it was.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from releasing.errors import ReleaseError
from releasing.steps import Release

ROOT = Path(__file__).parent.parent


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(prog="hatch run release", description="Release one package; nothing is pushed.")
    parser.add_argument("package", metavar="PACKAGE", help="a folder of packages/, e.g. core")
    parser.add_argument("version", metavar="VERSION", help="X.Y.Z")
    parser.add_argument(
        "--dry-run", action="store_true", help="do all but commit and tag, and leave the tree as it was"
    )
    options = parser.parse_args(arguments)
    try:
        Release.of(root, options.package, options.version).run(dry=options.dry_run)
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
