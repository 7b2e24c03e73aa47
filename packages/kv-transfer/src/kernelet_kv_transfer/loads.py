"""The side of a rank that takes prompts."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial

from kernelet.contracts.kv import KVPages
from kernelet_kv_transfer.client import Connection
from kernelet_kv_transfer.counts import Counts
from kernelet_kv_transfer.errors import AbandonedError, TransferError
from kernelet_kv_transfer.messages import Load, Staged, layout_digest
from kernelet_kv_transfer.packing import bytes_for, cut, first_end, unpack
from kernelet_kv_transfer.peers import Peers
from kernelet_kv_transfer.releases import Releases
from kernelet_kv_transfer.renewals import Renewals
from kernelet_kv_transfer.staging import Slot, Staging
from kernelet_kv_transfer.tasks import Tasks
from kernelet_kv_transfer.transport import Transport

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class Running:
    """A load.

    Attributes:
        load: What is taken.
        until: When it is given up.
        cancelled: It was given up.
        claimed: The lease ends with the connection.
        connection: To the rank that has it.
        writing: Held while pages are written.
    """

    load: Load
    until: float
    cancelled: bool = False
    claimed: bool = False
    connection: Connection | None = None
    writing: threading.Lock = field(default_factory=threading.Lock)

    def over(self) -> bool:
        """Whether it is to be given up."""
        return self.cancelled or time.monotonic() > self.until

    def check(self) -> None:
        """Raises TransferError if it is to be given up."""
        if self.over():
            raise TransferError("it was cancelled" if self.cancelled else "its time is over")

    @property
    def seconds_left(self) -> float:
        return max(0.001, self.until - time.monotonic())


class Loads:
    """Takes prompts on threads of its own. Thread-safe."""

    def __init__(
        self,
        pages: KVPages,
        *,
        transport: Transport,
        staging: Staging,
        releases: Releases,
        renewals: Renewals,
        counts: Counts,
        rank: int,
        world_size: int,
        seconds: float,
        threads: int,
        after_part: Callable[[int, int], None] | None = None,
    ) -> None:
        self._pages = pages
        self._staging = staging
        self._rank = rank
        self._world_size = world_size
        self._seconds = seconds
        self._layout = layout_digest(pages.layouts)
        self._transport = transport
        self._peers = Peers(transport)
        self._after_part = after_part
        self._running: dict[int, Running] = {}
        self._received: dict[int, int] = {}
        self._counts = counts
        self._releases = releases
        self._renewals = renewals
        self._lock = threading.Lock()
        self._tasks = Tasks("kv-load", threads)

    def start(self, loads: Collection[Load]) -> None:
        """Begins loads."""
        for load in loads:
            running = Running(load, time.monotonic() + self._seconds)
            with self._lock:
                self._running[load.transfer] = running
            self._tasks.put(partial(self._run, running))

    def cancel(self, transfers: Collection[int]) -> None:
        """When it returns, none of these writes a page any more; their leases are released."""
        for transfer in transfers:
            with self._lock:
                running = self._running.pop(transfer, None)
                self._received.pop(transfer, None)
            if running is None:
                continue
            running.cancelled = True
            with running.writing:
                connection = running.connection
            if connection is not None:
                connection.interrupt()

    def take_received(self) -> dict[int, int]:
        """Loads that are over since the last call, with their valid tokens."""
        with self._lock:
            received, self._received = self._received, {}
            return received

    def close(self, seconds: float) -> bool:
        """Gives up what runs; waits so long for its end. Whether it has ended."""
        with self._lock:
            transfers = list(self._running)
        self.cancel(transfers)
        ended = self._tasks.close(seconds)
        if ended:
            self._peers.close()
        return ended

    def _run(self, running: Running) -> None:
        load = running.load
        valid = load.start
        try:
            for end in self._parts(running):
                valid = end
        except TransferError as error:
            if not running.cancelled:
                logger.warning("load %d from %s: %s", load.transfer, load.remote.remote_engine_id, error)
        except Exception:
            logger.exception("load %d failed", load.transfer)
        if not running.claimed:
            self._releases.put([load.remote])
        self._renewals.drop(load.remote)
        self._finish(running, valid - load.start)

    def _parts(self, running: Running) -> Iterator[int]:
        """Loads part by part; gives up to where all is valid after each."""
        load = running.load
        running.check()
        with Connection(load.remote, self._rank, self._world_size, running.seconds_left) as connection:
            running.connection = connection
            running.check()
            metadata = connection.hello(self._transport.name, self._layout)
            peer = self._peers.reach(connection.place, metadata)
            least = max(connection.claim(load.key), first_end(self._pages.layouts, load.block_ids))
            running.claimed = True
            if load.end < least:
                raise TransferError(f"of a sliding window only what comes after {least} tokens is kept")
            parts = cut(self._pages.layouts, load.start, load.end, self._staging.size)
            for part, (start, end) in enumerate(parts):
                self._take(running, connection, peer, start, end)
                if end >= least:
                    yield end
                if self._after_part is not None:
                    self._after_part(load.transfer, part)

    def _take(self, running: Running, connection: Connection, peer: object, start: int, end: int) -> None:
        """One part: copied, verified, written."""
        load = running.load
        slot = self._staging.take(running.seconds_left)
        try:
            staged = connection.stage(start, end)
            if staged.size != bytes_for(self._pages.layouts, end - start):
                raise TransferError(f"{staged.size} bytes are not those of tokens [{start}, {end})")
            self._read(connection, peer, staged, slot, running)
            connection.verify(staged.stamp)
            with running.writing:
                running.check()
                if not unpack(self._pages, load.transfer, load.block_ids, start, end, slot.memory):
                    raise TransferError("the engine gave it up")
        except AbandonedError as error:
            self._staging.abandon(slot, error.settled)
            raise
        except BaseException:
            self._staging.give_back(slot)
            raise
        self._staging.give_back(slot)
        self._counts.add("bytes_received", staged.size)

    def _read(self, connection: Connection, peer: object, staged: Staged, slot: Slot, running: Running) -> None:
        try:
            self._transport.read(peer, staged.address, slot.address, staged.size, running.over)
        except AbandonedError:
            raise  # the peer may be well, and some transports keep something of each time that they reach it
        except TransferError:
            self._peers.forget(connection.place)
            raise

    def _finish(self, running: Running, valid: int) -> None:
        load = running.load
        whole = valid == load.end - load.start
        with self._lock:
            if self._running.pop(load.transfer, None) is None:
                self._counts.add("loads_cancelled")
                return
            self._counts.add("loads" if whole else "load_failures")
            self._received[load.transfer] = valid
