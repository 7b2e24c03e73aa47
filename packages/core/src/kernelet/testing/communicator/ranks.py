"""Ranks that make calls together: processes that are spawned once, or threads; one that hangs is given up."""

from __future__ import annotations

import multiprocessing
import queue
import socket
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import torch

from kernelet.contracts.executor import Communicator
from kernelet.contracts.offer import Settings
from kernelet.kernel.imports import import_string
from kernelet.testing.communicator.calls import Call, script

START = 180.0
"""Seconds in which a spawned rank must have imported what it runs."""

GRACE = 1.0
"""Seconds that others are waited for once a rank has failed."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """What ranks are made from.

    Attributes:
        target: Import string of the ``Communicator`` class.
        device: Where a rank's tensors lie: what ``torch.device`` takes, ``{rank}`` stands for the rank.
        deadline: Seconds for all calls of a job.
    """

    target: str
    settings: Settings
    size: int
    device: str
    deadline: float


@dataclass(frozen=True)
class Answer:
    """How a job ended on a rank: with results by call, with an error, or not at all (neither)."""

    results: list[Any] | None = None
    error: str | None = None


class NoCommunicatorError(TypeError):
    """The target is no ``Communicator``."""


class Ranks(ABC):
    """Ranks of one group after the other: every job joins a new group and leaves it."""

    def __init__(self, group: Group) -> None:
        self.group = group

    @abstractmethod
    def run(self, calls: Sequence[Call]) -> list[Answer]:
        """Makes calls on every rank; answers come by rank."""

    @abstractmethod
    def close(self) -> None:
        """Ends what runs."""


class ThreadRanks(Ranks):
    """Every job has threads of its own, in this process."""

    def run(self, calls: Sequence[Call]) -> list[Answer]:
        address, size = free_address(), self.group.size
        answers: queue.SimpleQueue[tuple[int, Answer]] = queue.SimpleQueue()

        def main(rank: int) -> None:
            answers.put((rank, attempt(self.group, rank, address, calls)))

        for rank in range(size):
            threading.Thread(target=main, args=(rank,), daemon=True).start()
        found: dict[int, Answer] = {}
        end = time.monotonic() + self.group.deadline
        while len(found) < size:
            if any(answer.error for answer in found.values()):
                end = min(end, time.monotonic() + GRACE)
            try:
                rank, answer = answers.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                break
            found[rank] = answer
        return [found.get(rank, Answer()) for rank in range(size)]

    def close(self) -> None:
        """A thread that hangs ends with the process."""


class ProcessRanks(Ranks):
    """Processes that are spawned at the first job, and again after one that failed."""

    def __init__(self, group: Group) -> None:
        super().__init__(group)
        self._running: list[tuple[BaseProcess, Connection]] = []

    def run(self, calls: Sequence[Call]) -> list[Answer]:
        failed = self._start()
        if failed is not None:
            return failed
        address = free_address()
        for _, connection in self._running:
            connection.send((address, tuple(calls)))
        answers = self._collect(self.group.deadline)
        if any(answer.results is None for answer in answers):
            self.close()
        return answers

    def close(self) -> None:
        for process, connection in self._running:
            connection.close()
            process.kill()  # it holds nothing, and may hang
            process.join()
            process.close()
        self._running = []

    def _start(self) -> list[Answer] | None:
        """Spawns the ranks, if there are none; the answers of a job that cannot even begin."""
        if self._running:
            return None
        context = multiprocessing.get_context("spawn")
        for rank in range(self.group.size):
            ours, theirs = context.Pipe()
            process = context.Process(target=serve, args=(theirs, self.group, rank), daemon=True)
            process.start()
            theirs.close()
            self._running.append((process, ours))
        ready = self._collect(START)
        if all(answer.results is not None for answer in ready):
            return None
        self.close()
        return ready

    def _collect(self, seconds: float) -> list[Answer]:
        ranks = {connection: rank for rank, (_, connection) in enumerate(self._running)}
        found: dict[int, Answer] = {}
        end = time.monotonic() + seconds
        while len(found) < len(ranks):
            if any(answer.error for answer in found.values()):
                end = min(end, time.monotonic() + GRACE)
            waiting = [connection for connection, rank in ranks.items() if rank not in found]
            ready = wait(waiting, max(0.0, end - time.monotonic()))
            if not ready:
                break
            for connection in ready:
                assert isinstance(connection, Connection)
                try:
                    found[ranks[connection]] = connection.recv()
                except (EOFError, OSError):
                    found[ranks[connection]] = Answer(error="the process of the rank died")
        return [found.get(rank, Answer()) for rank in range(len(ranks))]


def serve(connection: Connection, group: Group, rank: int) -> None:
    """A spawned rank: says that it is ready, then does job after job."""
    torch.set_num_threads(1)
    try:
        import_string(group.target)
    except BaseException:  # noqa: BLE001 - whatever it is, the parent reports it
        connection.send(Answer(error=traceback.format_exc()))
        return
    connection.send(Answer(results=[]))
    while True:
        address, calls = connection.recv()
        connection.send(attempt(group, rank, address, calls))


def attempt(group: Group, rank: int, address: str, calls: Sequence[Call]) -> Answer:
    """One rank's part of a job: joins, calls, leaves."""
    try:
        communicator = import_string(group.target)(group.settings, rank, group.size, address)
        if not isinstance(communicator, Communicator):
            raise NoCommunicatorError(f"{group.target} is no Communicator")
        device = torch.device(group.device.format(rank=rank))
        results = script(communicator, rank, device, calls)
        communicator.close()
    except BaseException as error:  # noqa: BLE001 - whatever it is, the suite reports it
        return Answer(error="".join(traceback.format_exception(error)))
    return Answer(results=results)


def free_address() -> str:
    """An address of this machine on which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{listener.getsockname()[1]}"
