"""The engine's signs of life: sent by a thread that waits for nothing but the clock and the parent's end."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable

import zmq

from kernelet.engine.remote.messages import Codec, Pulse
from kernelet.engine.stats import StatTotals

PULSES_KEPT = 4
"""Signs of life that wait for a frontend that does not read."""


class Progress:
    """What the engine's thread notes and the heartbeat reads; each note is one assignment.

    Attributes:
        totals: Statistics since the start.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._busy_since: float | None = None
        self.totals = StatTotals()

    def working(self) -> None:
        """A step or a call begins: there must be an end."""
        self._busy_since = self._clock()

    def idle(self) -> None:
        """There is nothing to do."""
        self._busy_since = None

    def pulse(self) -> Pulse:
        """As of now."""
        since = self._busy_since
        age = 0.0 if since is None else max(0.0, self._clock() - since)
        return Pulse(busy=since is not None, age=age, totals=self.totals.snapshot())


class Heartbeat:
    """Publishes a pulse every ``interval`` seconds, whatever the engine does, and ends the process after its parent.

    Args:
        context: Of the socket.
        address: Where it is bound.
        progress: What the pulses say.
        interval: Seconds between two.
        parent: A file descriptor that becomes readable when the parent ends.
        orphaned: Called then; it does not return.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        address: str,
        progress: Progress,
        interval: float,
        parent: int,
        orphaned: Callable[[], None],
    ) -> None:
        self._socket = context.socket(zmq.PUB)
        self._socket.set(zmq.LINGER, 0)
        self._socket.set(zmq.SNDHWM, PULSES_KEPT)
        self._socket.bind(address)
        self._progress = progress
        self._interval = interval
        self._parent = parent
        self._orphaned = orphaned
        self._wake, self._waker = os.pipe()
        self._thread = threading.Thread(target=self._run, name="kernelet-heartbeat", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def stop(self) -> None:
        """Ends; the parent is not watched any more."""
        os.write(self._waker, b".")
        self._thread.join()
        os.close(self._wake)
        os.close(self._waker)

    def _run(self) -> None:
        encode = Codec().encode
        while True:
            self._socket.send(encode(self._progress.pulse()))
            readable, _, _ = select.select([self._wake, self._parent], [], [], self._interval)
            if self._wake in readable:
                self._socket.close()
                return
            if self._parent in readable:
                self._orphaned()
