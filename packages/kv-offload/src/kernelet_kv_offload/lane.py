"""Work in order on a thread of its own, which an interpreter that ends does not stop before its owner does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

Work = Callable[[], None]


class Lane:
    """One thread. What fails there is kept, for ``check``; the rest goes on."""

    def __init__(self, name: str) -> None:
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._failure: Exception | None = None
        self._dropping = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Work) -> None:
        """Does something once all that was submitted before is done."""
        self._queue.put(work)

    def check(self) -> None:
        """Raises what the last failure was."""
        if self._failure is not None:
            raise self._failure

    def close(self, *, drop: bool = False) -> None:
        """Waits for what was submitted; with ``drop`` only for what is being done."""
        self._dropping = drop
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            if self._dropping:
                continue
            try:
                work()
            except Exception as error:  # noqa: BLE001 - whatever it is, the owner must know
                self._failure = error
