"""A progress bar in bytes on standard error, and nothing where that is no terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


class Progress:
    """Shows how many bytes of a known total are done. A context manager.

    Args:
        label: What is going on.
        total: Bytes in all.
        stream: Where it is drawn; standard error by default.
    """

    def __init__(self, label: str, total: int, stream: TextIO | None = None) -> None:
        stream = stream or sys.stderr
        self._bar = _bar(stream) if stream.isatty() else None
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

    def advance(self, nbytes: int) -> None:
        """More bytes are done."""
        self.done += nbytes
        if self._bar and self._task is not None:
            self._bar.advance(self._task, nbytes)


def _bar(stream: TextIO) -> RichProgress:
    """A bar on a terminal; only there is the library that draws it imported."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(file=stream), transient=True)
