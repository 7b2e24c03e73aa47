"""A connection to a rank of the engine that has the prompt."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeVar

from kernelet_kv_transfer.errors import TransferError
from kernelet_kv_transfer.messages import (
    VERSION,
    AnyMessage,
    Claim,
    Claimed,
    Hello,
    Message,
    Refused,
    Release,
    Renew,
    Renewed,
    Stage,
    Staged,
    Verified,
    Verify,
    Welcome,
    receive,
    send,
)
from kernelet_kv_transfer.params import Remote

MessageT = TypeVar("MessageT", bound=Message)


class Connection:
    """Asks one question at a time. ``interrupt`` may be called on any thread."""

    def __init__(self, remote: Remote, rank: int, world_size: int, seconds: float) -> None:
        """Connects.

        Raises:
            TransferError: the rank cannot be reached, or there is none.
        """
        if remote.tp_size != world_size:
            raise TransferError(f"the other engine has {remote.tp_size} ranks, this one has {world_size}")
        self.place = remote.remote_ranks[rank]
        self._name = "{}:{}".format(*self.place)
        self._remote = remote
        self._interrupted = threading.Event()
        try:
            self._socket = socket.create_connection(self.place, timeout=seconds)
        except (OSError, ValueError, OverflowError) as error:
            raise TransferError(f"{self._name} cannot be reached: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def interrupt(self) -> None:
        """Whatever is being asked fails now; the other side ends the claim."""
        self._interrupted.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def hello(self, transport: str, layout: bytes) -> bytes:
        """Shakes hands; returns the transport's metadata."""
        hello = Hello(version=VERSION, transport=transport, engine_id=self._remote.remote_engine_id, layout=layout)
        return self._ask(hello, Welcome).metadata

    def claim(self, key: bytes) -> int:
        """Takes the lease until the connection ends; returns where a load may end at the earliest."""
        remote = self._remote
        claim = Claim(number=remote.remote_lease, generation=remote.remote_generation, key=key)
        return self._ask(claim, Claimed).first_end

    def stage(self, start: int, end: int) -> Staged:
        """Has tokens [start, end) put where they can be read."""
        return self._ask(Stage(start=start, end=end), Staged)

    def verify(self, stamp: int) -> None:
        """After the copy: it is good."""
        self._ask(Verify(stamp=stamp), Verified)

    def renew(self, leases: Iterable[Remote]) -> Renewed:
        """Says that leases of this rank will be claimed, or are being read."""
        wanted = tuple((each.remote_lease, each.remote_generation) for each in leases)
        return self._ask(Renew(leases=wanted), Renewed)

    def release(self) -> None:
        """Says that nobody will claim the lease."""
        self._ask(Release(number=self._remote.remote_lease, generation=self._remote.remote_generation), Verified)

    def _ask(self, question: AnyMessage, expected: type[MessageT]) -> MessageT:
        try:
            send(self._socket, question)
            answer = receive(self._socket)
        except OSError as error:
            told = "it was given up" if self._interrupted.is_set() else f"{type(error).__name__}: {error}"
            raise TransferError(f"{self._name} does not answer: {told}") from error
        if isinstance(answer, Refused):
            raise TransferError(f"{self._name} refuses: {answer.reason}")
        if answer is None:
            raise TransferError(f"{self._name} ended the connection")
        if not isinstance(answer, expected):
            raise TransferError(f"{self._name} answers with {type(answer).__name__} out of order")
        return answer
