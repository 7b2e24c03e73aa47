"""Leases of one rank: prompts whose blocks stay until somebody has taken them, or nobody did in time."""

from __future__ import annotations

import hmac
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from kernelet_kv_transfer.counts import Counts
from kernelet_kv_transfer.errors import TransferError
from kernelet_kv_transfer.messages import Lease

REMEMBERED = 4096
"""Numbers that were cancelled before their lease came, of which so many are known: nobody waits for those."""


class Leases:
    """Thread-safe. Each lease ends once: released, expired or cancelled; ``take_ended`` tells the first two.

    Attributes:
        seconds: After which a lease expires of which nobody has said a word.
    """

    def __init__(self, seconds: float, counts: Counts, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._counts = counts
        self._clock = clock
        self._leases: dict[int, Lease] = {}
        self._until: dict[int, float] = {}
        self._claimed: set[int] = set()
        self._readers: Counter[int] = Counter()
        self._ended: list[int] = []
        self._newest = -1
        self._gone: deque[int] = deque(maxlen=REMEMBERED)
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return len(self._leases)

    def add(self, leases: Sequence[Lease]) -> None:
        """New ones, in the order of their numbers."""
        with self._changed:
            for lease in leases:
                self._leases[lease.number] = lease
                self._renew(lease.number)
                self._newest = max(self._newest, lease.number)
            self._counts.add("leases", len(leases))
            self._changed.notify_all()

    def claim(self, number: int, generation: str, key: bytes, timeout: float) -> Lease:
        """The lease, for one reader at a time; waits while its number is still to come.

        The client may be faster with the number than the step that brings it here.

        Raises:
            TransferError: it is not to be had; says why.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._newest >= number or number in self._gone, timeout)
            lease = self._of(number, generation)
            if not hmac.compare_digest(lease.key, key):
                raise TransferError(
                    "the request is not the one that was prefilled: model, adapter, salt or tokens differ"
                )
            if number in self._claimed:
                raise TransferError(f"lease {number} is being read by another")
            self._claimed.add(number)
            self._counts.add("leases_claimed")
            self._renew(number)
            return lease

    @contextmanager
    def reading(self, lease: Lease) -> Iterator[None]:
        """While pages are read: ``cancel`` waits, and the lease is not told to have ended.

        Raises:
            TransferError: it has ended.
        """
        with self._changed:
            self._of(lease.number, lease.generation)
            self._renew(lease.number)
            self._readers[lease.number] += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers[lease.number] -= 1
                if not self._readers[lease.number]:
                    del self._readers[lease.number]
                self._changed.notify_all()

    def is_open(self, lease: Lease) -> bool:
        """Whether it has not ended."""
        with self._changed:
            return self._leases.get(lease.number) is lease

    def verify(self, lease: Lease) -> None:
        """Whether it has not ended.

        Raises:
            TransferError: it has.
        """
        with self._changed:
            self._of(lease.number, lease.generation)
            self._renew(lease.number)

    def renew(self, number: int, generation: str) -> bool:
        """A word from whoever will claim it, or reads it; whether it is there, or still to come."""
        with self._changed:
            lease = self._leases.get(number)
            if lease is None:
                return number > self._newest and number not in self._gone
            if not hmac.compare_digest(lease.generation, generation):
                return False
            self._renew(number)
            return True

    def release(self, number: int, generation: str, *, by_reader: bool) -> None:
        """Ends a lease, if it has not ended yet; one that was claimed is its reader's to end."""
        with self._changed:
            lease = self._leases.get(number)
            if lease is None or not hmac.compare_digest(lease.generation, generation):
                return
            if by_reader or number not in self._claimed:
                self._end(number)
                self._ended.append(number)

    def cancel(self, numbers: Collection[int]) -> None:
        """Ends leases; when it returns, nobody reads their pages."""
        with self._changed:
            for number in numbers:
                if number in self._leases:
                    self._end(number)
                elif number > self._newest:
                    self._gone.append(number)
            self._changed.notify_all()
            self._ended = [number for number in self._ended if number not in numbers]
            self._changed.wait_for(lambda: not any(number in self._readers for number in numbers))

    def take_ended(self) -> frozenset[int]:
        """Those that were released or expired since the last call, and are read by nobody."""
        with self._changed:
            now = self._clock()
            for number in [number for number, until in self._until.items() if until <= now]:
                self._end(number)
                self._ended.append(number)
                self._counts.add("leases_expired")
            ended = frozenset(number for number in self._ended if number not in self._readers)
            self._ended = [number for number in self._ended if number not in ended]
            return ended

    def _of(self, number: int, generation: str) -> Lease:
        lease = self._leases.get(number)
        if lease is None or not hmac.compare_digest(lease.generation, generation):
            raise TransferError(f"lease {number} does not exist: it was taken, was released, or has expired")
        return lease

    def _renew(self, number: int) -> None:
        self._until[number] = self._clock() + self.seconds

    def _end(self, number: int) -> None:
        del self._leases[number], self._until[number]
        self._claimed.discard(number)
        self._changed.notify_all()
