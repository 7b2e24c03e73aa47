"""Who may touch pages: loads from the step that names them to the one that ends them, and readers until all ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from threading import Condition

READER = -1
"""Number under which reads are counted; transfers are never negative."""


class Transfers:
    """The loads that are open. What it says holds for all threads from the moment it returns.

    Attributes:
        bypassed: A connector was told where pages lie: what it writes there is not held back here.
    """

    def __init__(self) -> None:
        self.bypassed = False
        self._changed = Condition()
        self._open: set[int] = set()
        self._active: Counter[int] = Counter()
        self._closed = False

    def begin(self, transfers: Collection[int]) -> None:
        """These may write from now on."""
        if transfers:
            with self._changed:
                self._open.update(transfers)

    def end(self, transfers: Collection[int]) -> None:
        """When it returns, nothing is written for these any more, nor ever will be."""
        if transfers:
            with self._changed:
                self._open.difference_update(transfers)
                self._changed.wait_for(lambda: not any(self._active[transfer] for transfer in transfers))

    def close(self) -> None:
        """Ends all of them, and all reads."""
        with self._changed:
            self._open.clear()
            self._closed = True
            self._changed.wait_for(lambda: not self._active)

    @contextmanager
    def writing(self, transfer: int) -> Iterator[bool]:
        """Whether the transfer may write; it is not over before the block is left."""
        with self._changed:
            may = transfer in self._open
            if may:
                self._active[transfer] += 1
        try:
            yield may
        finally:
            if may:
                self._leave(transfer)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Pages stay where they are until the block is left.

        Raises:
            RuntimeError: it is closed.
        """
        with self._changed:
            if self._closed:
                raise RuntimeError("the pages are gone: the engine sleeps or has ended")
            self._active[READER] += 1
        try:
            yield
        finally:
            self._leave(READER)

    def _leave(self, number: int) -> None:
        with self._changed:
            self._active[number] -= 1
            if not self._active[number]:
                del self._active[number]
                self._changed.notify_all()
