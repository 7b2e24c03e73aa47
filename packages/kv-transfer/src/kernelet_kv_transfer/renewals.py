"""Leases of other engines that this one still wants: their owners hear of it before they expire."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass, field

from kernelet_kv_transfer.client import Connection
from kernelet_kv_transfer.errors import TransferError
from kernelet_kv_transfer.params import Remote
from kernelet_kv_transfer.tasks import join

logger = logging.getLogger(__name__)

FIRST = 0.3
"""Seconds until a lease is renewed for the first time: a third of the shortest. Most have been taken by then."""
MOST = 3600.0
"""Seconds between two times, however long a lease is."""
AGAIN = 1.0
"""Seconds after which an owner is asked again that has not answered."""
SECONDS = 5.0
"""What an owner has to answer in."""


@dataclass(eq=False)
class _Owner:
    """A rank of another engine.

    Attributes:
        wanted: Its leases, by generation.
        due: When it is told of them next.
    """

    wanted: dict[str, Remote] = field(default_factory=dict)
    due: float = float("inf")


class Renewals:
    """A thread for each owner of which something is wanted, so that one that does not answer delays no other.

    How long a lease lives is its owner's to say, and it is told again after a third of that. A process that is gone, or
    stands still, renews nothing; however often a lease is renewed, the owner's core ends it (``handover_timeout``).
    """

    def __init__(self, rank: int, world_size: int) -> None:
        self._rank = rank
        self._world_size = world_size
        self._owners: dict[tuple[str, int], _Owner] = {}
        self._threads: set[threading.Thread] = set()
        self._closed = False
        self._changed = threading.Condition()

    def add(self, remotes: Collection[Remote]) -> None:
        """Keeps these alive, from now on."""
        with self._changed:
            for remote in remotes:
                if self._closed or remote.tp_size != self._world_size:
                    continue  # the load says what is wrong with it
                place = remote.remote_ranks[self._rank]
                if place not in self._owners:
                    self._owners[place] = _Owner()
                    self._start(place)
                owner = self._owners[place]
                owner.wanted[remote.remote_generation] = remote
                owner.due = min(owner.due, time.monotonic() + FIRST)
            self._changed.notify_all()

    def drop(self, remote: Remote) -> None:
        """It was taken, or nobody wants it any more."""
        with self._changed:
            for owner in self._owners.values():
                owner.wanted.pop(remote.remote_generation, None)
            self._changed.notify_all()

    def close(self, seconds: float) -> bool:
        """Renews nothing any more; waits so long for threads that are asking. Whether all have ended."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            threads = list(self._threads)
        return join(threads, seconds)

    def _start(self, place: tuple[str, int]) -> None:
        thread = threading.Thread(target=self._work, args=(place,), name="kv-renewal", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _work(self, place: tuple[str, int]) -> None:
        while remotes := self._next(place):
            try:
                with Connection(remotes[0], self._rank, self._world_size, SECONDS) as connection:
                    renewed = connection.renew(remotes)
            except TransferError as error:
                logger.info("%d leases of %s: %s", len(remotes), remotes[0].remote_engine_id, error)
                self._told(place, AGAIN)
            else:
                self._told(place, min(max(FIRST, renewed.seconds / 3), MOST))
                for remote in remotes:
                    if remote.remote_generation in renewed.gone:
                        self.drop(remote)

    def _next(self, place: tuple[str, int]) -> list[Remote]:
        """What is due, once something is; nothing: the thread ends."""
        with self._changed:
            owner = self._owners[place]
            while owner.wanted and not self._closed and (left := owner.due - time.monotonic()) > 0:
                self._changed.wait(left)
            if owner.wanted and not self._closed:
                owner.due = float("inf")
                return list(owner.wanted.values())
            del self._owners[place]
            self._threads.discard(threading.current_thread())
            return []

    def _told(self, place: tuple[str, int], seconds: float) -> None:
        with self._changed:
            owner = self._owners[place]
            owner.due = min(owner.due, time.monotonic() + seconds)
