"""Leases of other engines that nobody here will take."""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import partial

from kernelet_kv_transfer.client import Connection
from kernelet_kv_transfer.counts import Counts
from kernelet_kv_transfer.errors import TransferError
from kernelet_kv_transfer.params import Remote
from kernelet_kv_transfer.tasks import Tasks

logger = logging.getLogger(__name__)

SECONDS = 5.0
"""A lease that cannot be released in this time expires over there."""


class Releases:
    """Tells their owners so, on a thread of its own."""

    def __init__(self, rank: int, world_size: int, counts: Counts) -> None:
        self._rank = rank
        self._world_size = world_size
        self._counts = counts
        self._tasks = Tasks("kv-release", 1)

    def put(self, remotes: Collection[Remote]) -> None:
        """Will be told."""
        for remote in remotes:
            self._tasks.put(partial(self._release, remote))

    def close(self, seconds: float) -> bool:
        """Tells what is left, but waits so long at most; whether all has been told."""
        return self._tasks.close(seconds)

    def _release(self, remote: Remote) -> None:
        try:
            with Connection(remote, self._rank, self._world_size, SECONDS) as connection:
                connection.release()
        except TransferError as error:
            logger.info("lease %d of %s: %s", remote.remote_lease, remote.remote_engine_id, error)
        else:
            self._counts.add("releases")
