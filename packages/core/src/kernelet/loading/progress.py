"""A progress bar on standard error, and nothing where that is no terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


class Progress:
    """Shows how much of a known total is done. A context manager.

    Args:
        label: What is going on.
        total: Bytes in all, or things.
        stream: Where it is drawn; standard error by default.
        counts: They are things, not bytes.
    """

    def __init__(self, label: str, total: int, stream: TextIO | None = None, *, counts: bool = False) -> None:
        stream = stream or sys.stderr
        self._bar = _bar(stream, counts=counts) if stream.isatty() else None
        self._task = self._bar.add_task(label, total=total) if self._bar else None
        self.done = 0

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def advance(self, more: int) -> None:
        """More is done."""
        self.done += more
        if self._bar and self._task is not None:
            self._bar.advance(self._task, more)


def _bar(stream: TextIO, *, counts: bool) -> RichProgress:
    """A bar on a terminal; only there is the library that draws it imported."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    done = MofNCompleteColumn() if counts else DownloadColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), done, TimeRemainingColumn())
    return Progress(*columns, console=Console(file=stream), transient=True)
