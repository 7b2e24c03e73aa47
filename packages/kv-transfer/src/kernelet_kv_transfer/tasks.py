"""Threads that do not keep a process alive."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Collection


class Tasks:
    """So many daemon threads that run what is put, in order. A task catches its own errors."""

    def __init__(self, name: str, threads: int) -> None:
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{index}", daemon=True) for index in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def put(self, task: Callable[[], None]) -> None:
        """Runs it, when its turn comes."""
        self._queue.put(task)

    def close(self, seconds: float) -> bool:
        """Runs what was put, but waits so long at most; whether all has ended."""
        for _ in self._threads:
            self._queue.put(None)
        return join(self._threads, seconds)

    def _work(self) -> None:
        while (task := self._queue.get()) is not None:
            task()


def join(threads: Collection[threading.Thread], seconds: float) -> bool:
    """Waits so long at most for their ends; whether all have ended."""
    until = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)
