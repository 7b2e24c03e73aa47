"""Shows what is prepared: a line an engine with the last line of its command; plain lines where no terminal is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

TAIL = 15
"""Lines of a failed command that are kept."""


class PrepareError(Exception):
    """Why an engine cannot be had."""


class Step:
    """One engine's line."""

    def __init__(self, progress: Progress, task: TaskID, name: str) -> None:
        self.progress, self.task, self.name = progress, task, name

    def run(self, what: str, command: list[str]) -> None:
        """Runs a command to its end.

        Raises:
            PrepareError: it failed; with the last that it printed.
        """
        self._say(what)
        lines: list[str] = []
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"},  # ours, not theirs
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if text := line.strip():
                    lines.append(text)
                    self.progress.update(self.task, last=f"{what}: {text}")
        if process.returncode != 0:
            raise PrepareError(f"{what} failed ({process.returncode}):\n" + "\n".join(lines[-TAIL:]))

    def finish(self, text: str) -> None:
        """Its time stops."""
        self._say(text)
        self.progress.update(self.task, total=1, completed=1)

    def _say(self, text: str) -> None:
        self.progress.update(self.task, last=text)
        if not self.progress.console.is_terminal:
            print(f"{self.name}: {text}", file=sys.stderr, flush=True)


@contextmanager
def steps(names: list[str]) -> Iterator[Iterator[tuple[str, Step]]]:
    """The steps of some engines, one after the other."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}"),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        yield ((name, Step(progress, progress.add_task(name, total=None, last=""), name)) for name in names)
