"""Where steps run: on a thread of their own, or on the caller's where the device itself does not block."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


class StepThread:
    """Runs functions one after the other, in the order in which they were submitted.

    One thread runs everything, so that math libraries keep one pool of threads for it. It ends with the process, even
    if nobody closes it (a thread pool of the standard library would stop taking steps before the engine stops).

    Args:
        inline: Run each function at once, on the caller's thread.
    """

    def __init__(self, *, inline: bool) -> None:
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = None if inline else Thread(target=self._main, name="kernelet-worker", daemon=True)
        if self._thread is not None:
            self._thread.start()

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Queues a function."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(function())
            except BaseException as error:  # noqa: BLE001 - whoever asks for the result gets it
                future.set_exception(error)

        if self._thread is None:
            run()
        else:
            self._queue.put(run)
        return future

    def run(self, function: Callable[[], T]) -> T:
        """Runs a function and waits for it."""
        return self.submit(function).result()

    def close(self) -> None:
        """Waits for what was submitted and ends; may be called twice. What is submitted later never runs."""
        if self._thread is not None and self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def _main(self) -> None:
        while (run := self._queue.get()) is not None:
            run()
