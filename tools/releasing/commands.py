"""Runs tools of this environment on a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from releasing.errors import ReleaseError


def run(root: Path, *command: str, failed: str, shown: bool = False) -> str:
    """What a command prints; with ``shown`` it goes straight through instead.

    Args:
        root: The checkout; its own sources are imported, not installed ones.
        command: Program and arguments.
        failed: Message of the error, before the command's output.
        shown: For what takes minutes.

    Raises:
        ReleaseError: it ends with another status than 0.
    """
    source = str(root / "packages/core/src")
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH", ""))))
    done = subprocess.run(
        command, cwd=root, env=os.environ | {"PYTHONPATH": path}, capture_output=not shown, text=True, check=False
    )
    if done.returncode:
        said = "" if shown else f":\n{(done.stdout + done.stderr).strip()[-3000:]}"
        raise ReleaseError(failed + said)
    return done.stdout or ""


def python(root: Path, *arguments: str, failed: str, shown: bool = False) -> str:
    """The same, by this environment's Python."""
    return run(root, sys.executable, *arguments, failed=failed, shown=shown)
