"""What takes long runs on a few threads of its own, and the memory of what is large is given back."""

from __future__ import annotations

import asyncio
import ctypes
import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

LARGE: Final = 64 * 1024
"""Bytes or token ids from which on work is kept off the event loop."""

THREADS: Final = 2
"""Each takes processor time from the event loop and from smaller requests."""

GIVE_BACK_BYTES: Final = 256 * 1024
"""A request or an answer of that size leaves memory behind."""

BURST: Final = 256
"""So many requests at once leave memory behind too."""

GIVE_BACK_SECONDS: Final = 0.5
"""How long nothing large may have come before memory is given back: the next one would ask for it again."""


class LargeWork:
    """The threads of one server. Made anywhere, used from one event loop."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="large")
        self._trim = trimmer()
        self._waiting: asyncio.TimerHandle | None = None
        self._open = self._most = 0

    async def run(self, size: int, function: Callable[[], T]) -> T:
        """The result of a function, which takes time that grows with a size. Small ones are called at once."""
        return function() if size < LARGE else await self.run_aside(size, function)

    async def run_aside(self, size: int, function: Callable[[], T]) -> T:
        """The same; small ones are called on the event loop's own threads."""
        pool = None if size < LARGE else self._pool
        return await asyncio.get_running_loop().run_in_executor(pool, function)

    def begin(self) -> None:
        """A request has come."""
        self._open += 1
        self._most = max(self._most, self._open)

    def done(self, size: int) -> None:
        """A request and its answer, of that size together, have come to their end."""
        self._open -= 1
        if size < GIVE_BACK_BYTES and not (self._most >= BURST and self._open < BURST // 8):
            return
        self._most = self._open
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = asyncio.get_running_loop().call_later(GIVE_BACK_SECONDS, self._give_back)

    def close(self) -> None:
        """Waits for nothing."""
        if self._waiting is not None:
            self._waiting.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _give_back(self) -> None:
        self._waiting = None
        self._pool.submit(self._collect)

    def _collect(self) -> None:
        gc.collect()  # errors and the frames that they came through hold each other, and bodies
        self._trim()


def trimmer() -> Callable[[], object]:
    """What makes the allocator give free memory back; a C library that does so by itself needs nothing."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return (lambda: None) if trim is None else (lambda: trim(0))
