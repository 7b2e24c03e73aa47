"""Calls of Mooncake's library, each with a deadline: of itself it waits half a minute for a master that hangs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import ParamSpec, TypeVar

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
PAUSE = 5.0
"""Seconds between two looks at a store that was lost."""


class UnreachableError(Exception):
    """The store does not answer; whoever had to know was told."""


class Calls:
    """Once a call was late, or found no master, nobody waits for the store until it was seen to answer.

    Args:
        seconds: Deadline of a call.
        look: Asks the store something; whether it answers. Runs on a thread, without a deadline.
    """

    def __init__(self, seconds: float, look: Callable[[], bool]) -> None:
        self._seconds, self._look = seconds, look
        self._lock = threading.Lock()
        self._lost, self._over = False, threading.Event()

    @property
    def lost(self) -> bool:
        """Whether the store does not answer."""
        return self._lost

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls it on a thread, which a late call keeps, with its arguments.

        Raises:
            UnreachableError: it is late, or the store was lost before.
        """
        if self._lost:
            raise UnreachableError
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(function(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - of whoever waits
                future.set_exception(error)

        threading.Thread(target=run, name="kv-store-call", daemon=True).start()
        if not wait([future], self._seconds).done:
            self.lose(f"no answer in {self._seconds:g} s")
            raise UnreachableError
        return future.result()

    def lose(self, reason: str) -> None:
        """From now on the store does not answer; says so once."""
        with self._lock:
            if self._lost or self._over.is_set():
                return
            self._lost = True
        logger.warning("Mooncake's store does not answer, everything is a miss until it does: %s", reason)
        threading.Thread(target=self._watch, name="kv-store-look", daemon=True).start()

    def close(self) -> None:
        """Looks no more."""
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(PAUSE):
            if self._look():
                logger.info("Mooncake's store answers again")
                self._lost = False
                return
