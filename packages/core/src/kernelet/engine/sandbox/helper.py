"""One helper process, as its parent sees it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from kernelet.engine.sandbox.messages import Call, Hello, Reply, Started, receive, send
from kernelet.errors import SandboxError, SandboxMemoryError, SandboxTargetError, SandboxTimeoutError

START_SECONDS: Final = 120.0
"""How long a helper may take until a call starts: to start itself, to import the target, to load plugins."""

END_SECONDS: Final = 1.0
"""How long a helper that is told to end may take."""

_COMMAND: Final = "from kernelet.engine.sandbox.child import main; main()"
_OVERHEAD: Final = 1 << 16


class Watch(NamedTuple):
    """Who is asked, time and again, whether a call that runs may go on.

    Attributes:
        seconds: Between two times.
        may_go_on: False: it is stopped.
    """

    seconds: float
    may_go_on: Callable[[], bool]


class HelperProcess:
    """Starts on construction. Used by one thread at a time; ``kill`` may come from any.

    Attributes:
        usable: It may be given a call.
        died_idle: It had served before, and ended before it began with the last call: another helper may serve that.

    Raises:
        SandboxError: the system starts no further process.
    """

    def __init__(self, hello: Hello) -> None:
        self._channel, theirs = socket.socketpair()
        with theirs:
            # -P: nothing of the working folder is imported; a session of its own: killed with all that it starts
            life, self._life = os.pipe()
            command = [sys.executable, "-u", "-P", "-c", _COMMAND, str(life)]
            try:
                self._process = subprocess.Popen(
                    command, stdin=theirs.fileno(), pass_fds=(life,), start_new_session=True
                )
            except OSError as error:
                self._channel.close()
                os.close(self._life)
                raise SandboxError(f"no helper process could be started: {error}") from error
            finally:
                os.close(life)
        self.usable = True
        self.died_idle = self._has_served = False
        self._made: set[tuple[str, str]] = set()
        try:
            send(self._channel, hello, START_SECONDS)
        except OSError:
            self.kill()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether it has not ended by itself."""
        return self.usable and self._process.poll() is None

    def call(self, call: Call, what: str, max_result_bytes: int, watch: Watch | None = None) -> bytes:
        """Runs a target. After an error that says the helper was stopped, or has ended, it is not usable.

        Raises:
            SandboxError: see ``Sandbox.call``.
        """
        self.usable, limit = False, max_result_bytes + _OVERHEAD
        self.died_idle, self._has_served = self._has_served, True
        try:
            send(self._channel, self._without_what_it_has(call), START_SECONDS)
            reply = self._receive(limit, START_SECONDS, what)
        except TimeoutError:
            self.died_idle = False
            raise SandboxError(f"{what} failed: the process for it did not start in {START_SECONDS:g} s") from None
        except OSError:
            raise self._ended(what) from None
        self.died_idle = False
        if isinstance(reply, Started):
            if call.setup is not None:
                self._made.add((call.setup.target, call.setup.key))
            reply = self._result(limit, call.seconds, what, watch)
        self.usable = not reply.is_last
        if reply.out_of_memory:
            raise SandboxMemoryError(f"{what} needs more memory than it may have and was stopped")
        if reply.error:
            text = f"{reply.error}: {reply.message}" if reply.message else reply.error
            raise SandboxTargetError(f"{what} failed: {text}", error=reply.error, text=reply.message)
        return reply.result

    def _without_what_it_has(self, call: Call) -> Call:
        setup = call.setup
        if setup is None or (setup.target, setup.key) not in self._made:
            return call
        return msgspec.structs.replace(call, setup=msgspec.structs.replace(setup, payload=b""))

    def _result(self, limit: int, seconds: float, what: str, watch: Watch | None) -> Reply:
        """The reply of a target that runs."""
        end = time.monotonic() + seconds
        if watch is not None:
            self._watch(watch, end, what)
        try:
            reply = self._receive(limit, end - time.monotonic(), what)
        except TimeoutError:
            raise SandboxTimeoutError(f"{what} took longer than {seconds:g} s and was stopped") from None
        except OverflowError as error:
            raise SandboxError(f"{what} made {error}, more than it may, and was stopped") from None
        assert isinstance(reply, Reply)
        return reply

    def _watch(self, watch: Watch, end: float, what: str) -> None:
        """Waits for a reply to begin, or for the deadline."""
        poller = select.poll()
        poller.register(self._channel, select.POLLIN)
        while (left := end - time.monotonic()) > 0 and not poller.poll(1000 * min(left, watch.seconds)):
            if left > watch.seconds and not watch.may_go_on():
                raise SandboxError(f"{what} was stopped, since others wait")

    def _receive(self, limit: int, seconds: float, what: str) -> Started | Reply:
        data = receive(self._channel, limit, time.monotonic() + seconds)
        if data is None:
            raise self._ended(what)
        return msgspec.msgpack.decode(data, type=Started | Reply)

    def _ended(self, what: str) -> SandboxError:
        """Why the process is gone, as an error."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        code = self._process.returncode
        if code == -signal.SIGXCPU:
            return SandboxTimeoutError(f"{what} used more processor time than it may and was stopped")
        if code is None:
            how = "hung up"
        elif code < 0:
            how = f"was ended by {signal.Signals(-code).name}"
        else:
            how = f"ended with status {code}"
        return SandboxError(f"{what} failed: the process that ran it {how}")

    def kill(self) -> None:
        """Ends the process and what it started, now. May be called twice."""
        self.usable = False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
        # what waits on the socket wakes up
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        """Gives back what the parent holds; kills the process if it has not ended. By the thread that uses it."""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(0 if self.usable is False else END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        self._channel.close()
        os.close(self._life)
