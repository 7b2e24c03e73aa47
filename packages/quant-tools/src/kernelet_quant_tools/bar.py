"""A progress bar of modules on standard error, and nothing where that is no terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self, TextIO


class Bar:
    """Shows how many modules are done, and the last one's name. A context manager; called with each name.

    Args:
        label: What is going on.
        total: Modules in all.
        stream: Where it is drawn; standard error by default.
    """

    def __init__(self, label: str, total: int, stream: TextIO | None = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        stream = stream or sys.stderr
        columns = (
            TextColumn(label),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[name]}", markup=False),
        )
        self._bar = Progress(*columns, console=Console(file=stream), transient=True, disable=not stream.isatty())
        self._task = self._bar.add_task(label, total=total, name="")
        self.done: list[str] = []

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, name: str) -> None:
        """A module is done."""
        self.done.append(name)
        self._bar.update(self._task, advance=1, name=name)
