"""Threads for compilations: those that take long do not hold up those that come after them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from kernelet.errors import SandboxBusyError

PATIENCE: Final = 1.0
"""Seconds after which a job is one that takes long."""

QUICK: Final = 2
"""Jobs that run at a time and have not taken long yet."""

SLOW: Final = 2
"""Those that have."""

TOGETHER: Final = 3
"""Of both: each kind always has a thread that the other cannot take."""

MAX_WAITING: Final = 256
MAX_WAIT_SECONDS: Final = 30.0


@dataclass(eq=False)
class Job:
    """One compilation.

    Attributes:
        run: Called on a thread, which it may tell that it gave way (True): it is run again from its start, later.
        fail: Called instead, with the reason, where it waited too long.
        is_slow: Whether it has taken long.
        since: When it began to wait.
    """

    run: Callable[[], bool]
    fail: Callable[[Exception], None]
    is_slow: bool = False
    since: float = 0.0


class Lanes:
    """Runs jobs, in the order in which they came, new ones beside those that take long. Safe to use from any thread.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._closed = False
        self._quick, self._slow = deque[Job](), deque[Job]()
        self._running: set[Job] = set()
        self._threads = ThreadPoolExecutor(TOGETHER, thread_name_prefix="kernelet-grammar")

    def add(self, job: Job) -> None:
        """It will run.

        Raises:
            SandboxBusyError: too many wait.
        """
        with self._lock:
            if len(self._quick) + len(self._slow) >= MAX_WAITING:
                raise SandboxBusyError(f"{MAX_WAITING} other constraints wait to be compiled: try again later")
            self._wait(job)

    def remove(self, job: Job) -> bool:
        """It is not begun any more; False: it runs, or has ended."""
        with self._lock:
            for waiting in (self._quick, self._slow):
                if job in waiting:
                    waiting.remove(job)
                    return True
        return False

    def may_go_on(self, job: Job) -> bool:
        """Whether a job that runs, and takes long, may: there is room for it, or nobody waits behind it."""
        with self._lock:
            if not job.is_slow and self._running_slow() < SLOW:
                job.is_slow = True
                self._start()
            return job.is_slow or not self._quick

    def close(self) -> None:
        """What waits never runs; what runs is waited for, by a second call. May be called more often."""
        with self._lock:
            wait, self._closed = self._closed, True
            self._quick.clear()
            self._slow.clear()
        self._threads.shutdown(wait=wait, cancel_futures=True)

    # --- with the lock -----------------------------------------------------------------------------

    def _wait(self, job: Job) -> None:
        job.since = self._clock()
        (self._slow if job.is_slow else self._quick).append(job)
        self._start()

    def _running_slow(self) -> int:
        return sum(job.is_slow for job in self._running)

    def _start(self) -> None:
        """Begins what there is room for."""
        for waiting, is_slow, most in ((self._quick, False, QUICK), (self._slow, True, SLOW)):
            while waiting and not self._closed and len(self._running) < TOGETHER:
                if sum(job.is_slow is is_slow for job in self._running) >= most:
                    break
                job = waiting.popleft()
                self._running.add(job)
                self._threads.submit(self._work, job)

    # --- on a thread -------------------------------------------------------------------------------

    def _work(self, job: Job) -> None:
        gave_way = False
        try:
            waited = self._clock() - job.since
            if waited > MAX_WAIT_SECONDS:
                job.fail(SandboxBusyError(f"the constraint waited for {waited:.0f} s for others: try again later"))
            else:
                gave_way = job.run()
        finally:
            with self._lock:
                self._running.discard(job)
                job.is_slow = job.is_slow or gave_way
                if gave_way:
                    self._wait(job)
                else:
                    self._start()
