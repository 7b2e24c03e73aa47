"""The thread that reads from an engine's process, and follows it from one generation to the next."""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import zmq

from kernelet.config import HealthConfig
from kernelet.contracts.serving import EngineHealth
from kernelet.engine.remote.connection import Connection
from kernelet.engine.remote.launch import EngineProcess, Launcher
from kernelet.engine.remote.meeting import MeetingPlace
from kernelet.engine.remote.messages import (
    Codec,
    Died,
    EngineMessage,
    FrontendMessage,
    Goodbye,
    Hello,
    Pulse,
    Started,
    StartFailed,
)
from kernelet.errors import EngineDeadError
from kernelet.executor.failures import revive

logger = logging.getLogger(__name__)

OUTBOX = "inproc://outbox"
STOP = b"\xc1"  # no message begins with this byte

LAST_WORDS_MS = 200
"""How long the last messages of a process that has ended are waited for."""

STEADY_SECONDS = 60.0
"""An engine that ran so long is restarted at once, one that did not after a pause, which doubles."""

LONGEST_PAUSE = 30.0

OVERSLEPT_SECONDS = 2.0
"""Whoever wakes up so much too late was not running, and knows nothing of others' silence."""


@dataclass(frozen=True, kw_only=True)
class RemoteOptions:
    """How an engine's process is watched.

    Attributes:
        restart: Start another one when it dies or stalls.
        limits: When it counts as stalled.
        heartbeat_interval: Seconds between two signs of life.
        max_backlog: Bytes of outputs that a frontend may leave unread; beyond, its requests are aborted.
    """

    restart: bool = False
    limits: HealthConfig = field(default_factory=HealthConfig)
    heartbeat_interval: float = 1.0
    max_backlog: int = 1 << 26


class Listener(Protocol):
    """Who is told, on the reading thread; see ``RemoteClient``."""

    def on_started(self, started: Started) -> None: ...
    def on_pulse(self, pulse: Pulse) -> None: ...
    def on_message(self, message: FrontendMessage) -> None: ...
    def on_time(self) -> EngineHealth: ...
    def on_oversleep(self) -> None: ...
    def on_death(self, error: EngineDeadError) -> None: ...


class Line:
    """Owns the sockets, and with a launcher the process.

    Attributes:
        lock: Held by whoever must not see the engine change between a look and a ``send``.
        restarting: Whether another engine is on its way.
    """

    def __init__(
        self, place: MeetingPlace, index: int, options: RemoteOptions, launcher: Launcher | None, listener: Listener
    ) -> None:
        self._place = place
        self._options = options
        self._launcher = launcher
        self._listener = listener
        self._codec = Codec()
        self._hello = Hello(index=index, alive=f"frontend-{index}-{secrets.token_hex(4)}")
        self._alive = place.make_pipe(self._hello.alive)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._inbox = self._context.socket(zmq.PULL)
        self._inbox.set(zmq.RCVHWM, 0)
        self._inbox.bind(OUTBOX)
        self._outbox = self._context.socket(zmq.PUSH)
        self._outbox.set(zmq.SNDHWM, 0)
        self._outbox.connect(OUTBOX)
        self._thread = threading.Thread(target=self._run, name="kernelet-engine-io", daemon=True)
        self.lock = threading.RLock()
        self.restarting = False
        self._generation = 0
        self._process: EngineProcess | None = None
        self._connection: Connection | None = None
        self._first: Future[Started] = Future()
        self._last_words = ""
        self._up = False
        self._failure: Exception | None = None
        self._began = time.monotonic()
        self._pause = 1.0
        self._next_at: float | None = None
        self._kill_at: float | None = None
        self._stop_seconds = 0.0

    @property
    def pid(self) -> int | None:
        """The process's, if it is ours and there is one."""
        process = self._process
        return None if process is None else process.pid

    def start(self) -> Started:
        """Waits until the engine takes requests.

        Raises:
            KerneletError: what it raised, or EngineDeadError if it ended without a word.
        """
        if self._launcher is None:
            self._generation = self._place.newest_generation()  # it may have been restarted before we came
        self._open()
        self._thread.start()
        return self._first.result()

    def encode(self, message: EngineMessage) -> bytes:
        """For ``send``."""
        return self._codec.encode(message)

    def send(self, data: bytes) -> None:
        """To the present engine, whose successor never sees it."""
        with self.lock:
            if not self._outbox.closed:
                self._outbox.send_multipart([str(self._generation).encode(), data])

    def stop(self, seconds: float) -> None:
        """Ends the engine if it is ours, after that time by force; releases everything."""
        self._stop_seconds = seconds
        self.send(STOP)
        if self._thread.is_alive():
            self._thread.join()
        self._outbox.close()
        self._inbox.close()
        self._context.term()
        os.close(self._alive)
        Path(self._place.folder, self._hello.alive).unlink(missing_ok=True)
        if self._launcher is not None:
            self._place.remove()

    # --- on the reading thread -------------------------------------------------------------------

    def _run(self) -> None:
        while not (self._kill_at is not None and self._connection is None):
            try:
                self._turn()
            except Exception:
                logger.exception("a message of the engine could not be handled")
        self._listener.on_death(EngineDeadError("the engine was shut down"))

    def _turn(self) -> None:
        asked, timeout = time.monotonic(), self._timeout()
        connection = self._connection
        poller = zmq.Poller() if connection is None else connection.poller
        poller.register(self._inbox, zmq.POLLIN)
        events = dict(poller.poll(int(timeout * 1000)))
        if time.monotonic() - asked > timeout + OVERSLEPT_SECONDS:
            self._listener.on_oversleep()
        if self._inbox in events:
            self._forward()
        if connection is not None:
            self._attend(connection, events)
        self._look_at_the_clock()

    def _timeout(self) -> float:
        due = [at for at in (self._next_at, self._kill_at) if at is not None]
        left = min(due, default=float("inf")) - time.monotonic()
        return max(0.0, min(left, self._options.heartbeat_interval))

    def _attend(self, connection: Connection, events: dict[object, int]) -> None:
        if connection.data in events:
            for message in connection.receive():
                self._take(message)
        if connection.pulses in events and (pulse := connection.pulse()) is not None:
            self.restarting |= self._first.done() and not self._up
            self._listener.on_pulse(pulse)
        if connection.pipe is not None and connection.pipe in events:
            self._lost(connection)

    def _forward(self) -> None:
        while self._inbox.poll(0):
            generation, data = self._inbox.recv_multipart()
            if data == STOP:
                self._begin_to_stop()
            elif self._connection is not None and int(generation) == self._generation:
                self._connection.forward(data)

    def _take(self, message: FrontendMessage) -> None:
        if isinstance(message, Started):
            self._on_started(message)
        elif isinstance(message, StartFailed):
            self._failure = revive(message.failure)
        elif isinstance(message, Died):
            self._last_words = message.reason
        else:
            self._listener.on_message(message)

    def _on_started(self, started: Started) -> None:
        assert self._connection is not None
        self._connection.find_pipe()
        self._connection.read_every = started.read_every
        self._up = True
        if not self._first.done():
            self._listener.on_started(started)
            self._first.set_result(started)
            return
        if started.identity != self._first.result().identity:
            self._options = RemoteOptions()  # no further one would be another
            self._last_words = (
                "the engine that was restarted is another one (its plugins or the plan of its layers differ): "
                "start the server anew"
            )
            self._kill()
            return
        self.restarting = False
        self._listener.on_started(started)

    def _look_at_the_clock(self) -> None:
        now = time.monotonic()
        if self._kill_at is not None and now >= self._kill_at:
            self._kill()
        if self._next_at is not None and now >= self._next_at:
            self._reopen()
        health = self._listener.on_time()
        if health.state == "stalled" and self._options.restart and self._launcher is not None:
            self._last_words = f"{health.detail}: it was killed"
            self._kill()

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    # --- one engine after the other --------------------------------------------------------------

    def _open(self) -> None:
        """Comes to the present generation; with a launcher, makes it."""
        self._last_words, self._failure, self._began = "", None, time.monotonic()
        if self._launcher is not None:
            self._process = self._launcher.launch(self._generation)
        pipe = None if self._process is None else self._process.pipe
        self._connection = Connection(self._context, self._place, self._generation, self._hello, pipe)

    def _reopen(self) -> None:
        self._next_at = None
        try:
            self._open()
        except OSError as error:
            self._plan_the_next(EngineDeadError(f"the engine cannot be started again ({error})"))

    def _close(self) -> None:
        assert self._connection is not None
        self._connection.close()
        self._connection = self._process = None
        self._up = self.restarting = False

    def _lost(self, connection: Connection) -> None:
        """The process has ended."""
        while connection.data.poll(LAST_WORDS_MS):
            for message in connection.receive():
                self._take(message)
        ending = "its process ended" if self._process is None else self._process.ending()
        self._close()
        error = EngineDeadError(self._last_words or f"the engine stopped: {ending}")
        if not self._first.done():
            self._first.set_exception(
                self._failure or EngineDeadError(f"the engine did not start: {ending}; its log may say why")
            )
            self._kill_at = time.monotonic()
            return
        if self._kill_at is None:
            self._plan_the_next(error)
        self._listener.on_death(error)

    def _plan_the_next(self, error: EngineDeadError) -> None:
        if self._launcher is not None and not self._options.restart:
            return
        with self.lock:
            self._generation += 1
        self.restarting = self._launcher is not None
        steady = time.monotonic() - self._began > STEADY_SECONDS
        self._pause = 1.0 if steady else min(2 * self._pause, LONGEST_PAUSE)
        self._next_at = time.monotonic() + (0.0 if steady or self._launcher is None else self._pause - 1.0)
        if self.restarting:
            why = f"; {self._failure}" if self._failure is not None else ""
            logger.error("%s%s; it is restarted", error, why)

    def _begin_to_stop(self) -> None:
        self._next_at, self.restarting = None, False
        connection, now = self._connection, time.monotonic()
        patient = self._first.done() and self._listener.on_time().state != "stalled"
        self._kill_at = now + (self._stop_seconds if patient else 0.0)
        if connection is not None:
            connection.send(Goodbye(stop=self._launcher is not None))
        if connection is not None and self._process is None:
            self._close()
