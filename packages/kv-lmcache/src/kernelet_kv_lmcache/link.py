"""A rank's agent: its process, its memory, and the calls to it."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol

import msgspec

from kernelet.config.env import all_variables
from kernelet_kv_lmcache import boot
from kernelet_kv_lmcache.wire import Answer, Free, Get, Lookup, Put, Reply, Setup, State, receive, send

AGAIN = 5.0
"""Seconds before an agent that died is started again."""


class Process(Protocol):
    """What a started agent is to its rank."""

    def wait(self, timeout: float) -> Any: ...
    def kill(self) -> None: ...


Start = Callable[[socket.socket, int], Process]
"""Starts an agent on a socket and memory that it may use."""


def environment(*, telemetry: bool) -> dict[str, str]:
    """That of LMCache's processes: quiet, and without its telemetry unless it is asked for."""
    quiet = {"LMCACHE_DISABLE_BANNER": "1", "LMCACHE_LOG_LEVEL": "ERROR"}
    told = {"LMCACHE_TRACK_USAGE": "true" if telemetry else "false"}
    return quiet | all_variables() | told


def starter(python: str, *, telemetry: bool) -> Start:
    """Starts agents with that interpreter; empty: the engine's own."""

    def start(sock: socket.socket, memory: int) -> Process:
        return subprocess.Popen(
            [python or sys.executable, "-P", str(Path(boot.__file__)), "agent", str(sock.fileno()), str(memory)],
            pass_fds=(sock.fileno(), memory),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=environment(telemetry=telemetry),
        )

    return start


class Link:
    """Calls an agent; an agent that dies is a server that does not answer, and another one is started.

    Args:
        start: Starts one.
        told: Is told each change of the server's state, on a thread of the link.
    """

    def __init__(self, start: Start, told: Callable[[State], None]) -> None:
        self.memory = os.memfd_create("kernelet-kv-lmcache")
        self._start, self._told = start, told
        self._setup: Setup | None = None
        self._numbers = itertools.count()
        self._open: dict[int, Future[Answer]] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._sock, self._process = self._begin()
        self._thread = threading.Thread(target=self._listen, name="kv-lmcache-link", daemon=True)
        self._thread.start()

    def setup(self, setup: Setup) -> None:
        """What the agent is told first."""
        with self._lock:
            self._setup = setup
            self._send(setup)

    def free(self, message: Free) -> None:
        with self._lock:
            self._send(message)

    def call(self, make: Callable[[int], Lookup | Get | Put]) -> Future[Answer]:
        """Sends what ``make`` builds with its number; the answer has count 0 where nothing came of it."""
        with self._lock:
            number = next(self._numbers)
            future = self._open[number] = Future()
            if self._setup is None or not self._send(make(number)):
                del self._open[number]
                future.set_result(Answer(number, 0))
        return future

    def close(self, timeout: float) -> None:
        """Ends the agent; what was asked and not answered has failed."""
        self._over.set()
        self._sock.shutdown(socket.SHUT_WR)
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout)
        self._thread.join(timeout)
        self._sock.close()
        os.close(self.memory)

    def _begin(self) -> tuple[socket.socket, Process]:
        mine, theirs = socket.socketpair()
        with theirs:
            return mine, self._start(theirs, self.memory)

    def _send(self, message: Setup | Lookup | Free | Get | Put) -> bool:
        try:
            send(self._sock, message)
        except OSError:  # it has died: the thread that listens sees it too
            return False
        return True

    def _listen(self) -> None:
        while True:
            try:
                for data in receive(self._sock):
                    self._take(msgspec.msgpack.decode(data, type=Reply))
            except OSError as error:
                reason = str(error)
            else:
                reason = "its process ended"
            with self._lock:
                lost, self._open = self._open, {}
            for number, future in lost.items():
                future.set_result(Answer(number, 0))
            if self._over.is_set():
                return
            self._told(State(alive=False, reason=f"the agent of this rank is gone: {reason}"))
            if self._over.wait(AGAIN):
                return
            with self._lock:
                self._sock.close()
                self._process.kill()
                self._process.wait(AGAIN)
                self._sock, self._process = self._begin()
                if self._setup is not None:
                    self._send(self._setup)

    def _take(self, reply: Answer | State) -> None:
        if isinstance(reply, State):
            self._told(reply)
            return
        with self._lock:
            future = self._open.pop(reply.number, None)
        if future is not None:
            future.set_result(reply)
