"""The processes of all ranks, as their parent sees them."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from socket import socketpair
from typing import TypeVar

import msgspec

from kernelet.errors import EngineDeadError, KerneletError
from kernelet.executor.failures import Failure, revive
from kernelet.executor.multiprocess.messages import Answer, Command, Failed, Stop, encode

MODULE = "kernelet.executor.multiprocess.process"

PULSE = 0.5
"""Seconds after which one who waits looks whether somebody was stopped."""

PATIENCE = 2.0
"""Seconds that a process may be stopped by a signal: a terminal stops all processes, and lets them go on."""

BLAME = 1.0
"""Seconds in which a rank's end is noticed after another one failed: the first to fail may only have lost a peer."""

STOP_SECONDS = 10.0
"""Seconds in which workers end when they are told to; then they are killed."""

AnswerT = TypeVar("AnswerT", bound=Answer)


class WorkerProcess:
    """One rank. It starts on construction, and ends when ``life`` is closed by whatever ends this process.

    Attributes:
        link: Where commands go and answers come.
        stopped_since: When it was first seen to be stopped; None: it is not.
    """

    def __init__(self, rank: int) -> None:
        self.rank = rank
        ours, theirs = socketpair()
        life, self._life = os.pipe()
        with theirs:
            try:
                # -P: the current folder is not searched for modules, unless it is in our sys.path, which the child gets
                command = [sys.executable, "-P", "-m", MODULE, str(theirs.fileno()), str(life)]
                self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(), life))
            finally:
                os.close(life)
        self.link = Connection(ours.detach())
        self.stopped_since: float | None = None

    @property
    def name(self) -> str:
        return f"the worker of rank {self.rank} (process {self.child.pid})"

    def stop_signal(self) -> int:
        """The signal that stopped it; 0: it runs, or has ended."""
        if self.child.returncode is not None or not hasattr(os, "waitid"):
            return 0
        try:
            options = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
            found = os.waitid(os.P_PID, self.child.pid, options)
        except ChildProcessError:
            return 0
        return found.si_status if found is not None and found.si_code == os.CLD_STOPPED else 0

    def kill(self) -> None:
        """Ends it at once."""
        self.child.kill()
        self.child.wait()

    def close(self) -> None:
        """It has ended."""
        self.link.close()
        if self._life >= 0:
            os.close(self._life)
            self._life = -1


class Crew:
    """All ranks. After an error they have all ended.

    Args:
        size: Number of ranks.
    """

    def __init__(self, size: int) -> None:
        self._processes = [WorkerProcess(rank) for rank in range(size)]
        self._answers = msgspec.msgpack.Decoder(Answer)
        self._selector = selectors.DefaultSelector()
        for process in self._processes:
            self._selector.register(process.link.fileno(), selectors.EVENT_READ, process)

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids, by rank."""
        return tuple(process.child.pid for process in self._processes)

    def tell(self, commands: Sequence[Command] | Command) -> None:
        """Sends each rank its command, or one command to all."""
        if isinstance(commands, Sequence):
            messages = [encode(command) for command in commands]
        else:
            messages = [encode(commands)] * len(self._processes)
        for process, message in zip(self._processes, messages, strict=True):
            try:
                process.link.send_bytes(message)
            except OSError:
                raise self._lost(process) from None

    def hear(self, kind: type[AnswerT]) -> list[AnswerT]:
        """Waits for an answer of every rank, by rank.

        Raises:
            EngineDeadError: one ended or was stopped; names rank and signal.
            Exception: what a rank raised.
        """
        answers: dict[int, AnswerT] = {}
        while len(answers) < len(self._processes):
            for process, answer in self._next(PULSE):
                if isinstance(answer, Failed):
                    raise self._failed(process, answer.failure)
                assert isinstance(answer, kind)
                answers[process.rank] = answer
        return [answers[rank] for rank in range(len(self._processes))]

    def check(self) -> None:
        """Looks whether all are there, without waiting.

        Raises:
            EngineDeadError: one ended or was stopped; names rank and signal.
        """
        for process in self._processes:
            if process.child.poll() is not None:
                raise self._lost(process)
        self._check_stopped()

    def close(self) -> None:
        """Ends all: on their own, for a while. May be called twice."""
        for process in self._processes:
            with contextlib.suppress(OSError):  # it has ended
                process.link.send_bytes(encode(Stop()))
        end = time.monotonic() + STOP_SECONDS
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.child.wait(0 if process.stop_signal() else max(0.0, end - time.monotonic()))
        self._end()

    def _next(self, seconds: float) -> list[tuple[WorkerProcess, Answer]]:
        """Answers that came; none after a while."""
        found: list[tuple[WorkerProcess, Answer]] = []
        for key, _ in self._selector.select(seconds):
            process: WorkerProcess = key.data
            try:
                found.append((process, self._answers.decode(process.link.recv_bytes())))
            except (EOFError, OSError):
                raise self._lost(process) from None
        if not found:
            self._check_stopped()
        return found

    def _check_stopped(self) -> None:
        now = time.monotonic()
        for process in self._processes:
            number = process.stop_signal()
            if not number:
                process.stopped_since = None
                continue
            process.stopped_since = process.stopped_since or now
            if now - process.stopped_since >= PATIENCE:
                why = f"was stopped by {signal.Signals(number).name} and does not go on"
                raise self._dead(f"{process.name} {why}")

    def _lost(self, process: WorkerProcess) -> EngineDeadError:
        """One has hung up; it ends, or has ended."""
        try:
            code = process.child.wait(BLAME)
        except subprocess.TimeoutExpired:
            return self._dead(f"{process.name} does not answer any more")
        if code < 0:
            return self._dead(f"{process.name} was ended by {signal.Signals(-code).name}")
        return self._dead(f"{process.name} ended with exit code {code}")

    def _failed(self, failed: WorkerProcess, failure: Failure) -> Exception:
        """One raised something, perhaps only because another one is gone."""
        error = revive(failure, failed.name)
        if not isinstance(error, KerneletError) and (gone := self._gone_beside(failed)) is not None:
            return self._lost(gone)
        self._end()
        return error

    def _gone_beside(self, failed: WorkerProcess) -> WorkerProcess | None:
        """Another process that was ended by a signal at about the same time."""
        end = time.monotonic() + BLAME
        while time.monotonic() < end:
            for process in self._processes:
                if process is not failed and (process.child.poll() or 0) < 0:
                    return process
            time.sleep(BLAME / 50)
        return None

    def _dead(self, what: str) -> EngineDeadError:
        self._end()
        return EngineDeadError(f"{what}; the other workers were ended too")

    def _end(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.close()
        self._selector.close()
