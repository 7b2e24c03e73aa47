"""Progress bars on stderr; none when it is not a terminal, so stdout stays clean."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

Advance = Callable[[int], None]
"""Called with the bytes done since the last call."""


def interactive() -> bool:
    """Whether stderr is a terminal that a person looks at."""
    return sys.stderr.isatty()


@contextmanager
def bar(title: str, total: int | None) -> Iterator[Advance]:
    """A bar over ``total`` bytes (None: unknown)."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not interactive(), transient=True) as progress:
        task = progress.add_task(title, total=total)

        def advance(count: int) -> None:
            progress.update(task, advance=count)

        yield advance
