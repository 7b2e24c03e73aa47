"""Runs a job in a child process that may crash, hang, or print whatever it likes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TypeVar

import msgspec

from kernelet.kernel.doctor.messages import Answer, Job

A = TypeVar("A", bound=Answer)

MODULE = "kernelet.kernel.doctor.child"
SHOWN = 300
"""Characters of a dead child's last words."""


class ChildError(Exception):
    """A child gave no answer; the message says what became of it."""


def ask(job: Job, answer: type[A], deadline: float) -> A:
    """What a child answers.

    Args:
        job: What it does.
        answer: What it returns.
        deadline: Seconds after which it, and whatever it started, is killed.

    Raises:
        ChildError: it ended without an answer, or took too long.
    """
    with tempfile.TemporaryDirectory(prefix="kernelet-doctor-") as name:
        folder = Path(name)
        (folder / "job").write_bytes(msgspec.json.encode(job))
        # -P: the current folder is not searched for modules, unless it was in the parent
        command = [sys.executable, "-P", "-m", MODULE, str(folder / "job"), str(folder / "answer")]
        code = run(command, folder / "output", deadline)
        if (folder / "answer").is_file():
            return msgspec.json.decode((folder / "answer").read_bytes(), type=answer)
        words = " ".join((folder / "output").read_text(encoding="utf-8", errors="replace").split())[-SHOWN:]
    said = f"; its last words: {words}" if words else ""
    raise ChildError(f"{ending(code, deadline)}{said}")


def run(command: list[str], output: Path, deadline: float, cwd: Path | None = None) -> int | None:
    """Runs a command in a group of its own and ends the group; its exit code, None if it took too long."""
    with output.open("wb") as sink:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, cwd=cwd, start_new_session=True
        )
    try:
        return child.wait(deadline)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # what it started may live on; it does not
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def ending(code: int | None, deadline: float) -> str:
    """How a child ended, in words."""
    if code is None:
        return f"it hangs: it was ended after {deadline:g} s"
    if code < 0:
        return f"it ended its process by {signal.Signals(-code).name}"
    return f"it ended its process with exit code {code}"
