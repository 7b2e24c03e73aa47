"""Where steps run: on a thread of their own, or on the caller's where the device itself does not block."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class StepThread:
    """Runs functions one after the other, in the order in which they were submitted.

    One thread runs everything, so that math libraries keep one pool of threads for it.

    Args:
        inline: Run each function at once, on the caller's thread.
    """

    def __init__(self, *, inline: bool) -> None:
        self._pool = None if inline else ThreadPoolExecutor(1, thread_name_prefix="kernelet-worker")

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Queues a function."""
        if self._pool is not None:
            return self._pool.submit(function)
        future: Future[T] = Future()
        try:
            future.set_result(function())
        except Exception as error:  # noqa: BLE001 - whoever asks for the result gets it
            future.set_exception(error)
        return future

    def run(self, function: Callable[[], T]) -> T:
        """Runs a function and waits for it."""
        return self.submit(function).result()

    def close(self) -> None:
        """Waits for what runs and takes no more."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
