"""Progress bars for waits: on stderr, and only in a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


class Progress:
    """A wait of unknown appearance; this one shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def advance(self, amount: int = 1) -> None:
        """So much more is done."""


class Bar(Progress):
    """A bar with count, rate and remaining time, which vanishes when it is done."""

    def __init__(self, description: str, total: int, unit: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(unit),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self._bar: RichProgress = RichProgress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(description, total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def advance(self, amount: int = 1) -> None:
        self._bar.advance(self._task, amount)


def progress_bar(description: str, total: int, unit: str, *, shown: bool = True) -> Progress:
    """A bar where stderr is a terminal and one is wanted, else nothing."""
    return Bar(description, total, unit) if shown and sys.stderr.isatty() else Progress()
