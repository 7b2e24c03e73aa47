"""A rank's agent: its process, its memory, and the calls to it."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol

import msgspec

from kernelet.config.env import all_variables
from kernelet.errors import ConfigError
from kernelet_kv_lmcache import boot
from kernelet_kv_lmcache.wire import BEAT, Answer, Beat, Free, Get, Lookup, Put, Reply, Setup, State, receive, send

AGAIN = 5.0
"""Seconds before an agent that died is started again."""
LAST = 2.0
"""Seconds of silence after which an agent hangs when the engine ends."""
KILLED = 5.0
"""Seconds in which a process that was killed must end."""


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


def find_lmcache(python: str) -> None:
    """Whether that interpreter has LMCache, without importing it; empty: the engine's own.

    Raises:
        ConfigError: it has not.
    """
    program = python or sys.executable
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('lmcache') is None)"
    ended = subprocess.run([program, "-P", "-c", look], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if ended.returncode:
        raise ConfigError(
            f"kv-lmcache needs LMCache, which {program} does not have: pip install kernelet-kv-lmcache[lmcache], "
            "or --set kv-lmcache.python=/path/to/its/python"
        )


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

    An agent beats from its setup on; one that is silent for ``patience`` seconds hangs, and is killed.

    Args:
        start: Starts one.
        patience: Seconds.
        told: Is told each change of the server's state, on a thread of the link.
    """

    def __init__(self, start: Start, patience: float, told: Callable[[State], None]) -> None:
        self.memory = os.memfd_create("kernelet-kv-lmcache")
        self._start, self._patience, self._told = start, patience, told
        self._heard: float | None = None
        self._hangs = False
        self._setup: Setup | None = None
        self._numbers = itertools.count()
        self._open: dict[int, Future[Answer]] = {}
        self._lock = threading.Lock()
        self._over, self._ended = threading.Event(), threading.Event()
        self._sock, self._process = self._begin()
        self._threads = [
            threading.Thread(target=run, name="kv-lmcache-link", daemon=True) for run in (self._listen, self._watch)
        ]
        for thread in self._threads:
            thread.start()

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

    def hurry(self) -> None:
        """The engine ends: an agent that hangs is not waited for as long as before."""
        self._patience = min(self._patience, LAST)

    def close(self, timeout: float) -> None:
        """Ends the agent; what was asked and not answered has failed."""
        self.hurry()
        self._over.set()
        with contextlib.suppress(OSError):  # it is gone
            self._sock.shutdown(socket.SHUT_WR)
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(KILLED)
        self._ended.set()
        for thread in self._threads:
            thread.join(KILLED)
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
            if self._hangs:
                reason = f"it hung for {self._patience:g} s, and was killed"
            with self._lock:
                self._heard, self._hangs = None, False
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
                self._process.wait(KILLED)
                self._sock, self._process = self._begin()
                if self._setup is not None:
                    self._send(self._setup)

    def _watch(self) -> None:
        while not self._ended.wait(BEAT / 2):
            heard = self._heard
            if heard is not None and time.monotonic() > heard + self._patience:
                self._hangs = True
                self._process.kill()  # without the lock: who has it may wait for room in the socket

    def _take(self, reply: Reply) -> None:
        if isinstance(reply, Beat):
            self._heard = time.monotonic()
            return
        if isinstance(reply, State):
            self._told(reply)
            return
        with self._lock:
            future = self._open.pop(reply.number, None)
        if future is not None:
            future.set_result(reply)
