"""Handovers: requests that ended, whose blocks a connector still needs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from kernelet.cache.manager import CacheManager
from kernelet.cache.tables import BlockHold
from kernelet.config.kv import KVTransferConfig
from kernelet.contracts.kv import Handover
from kernelet.errors import RequestFailedError
from kernelet.request.request import Request
from kernelet.scheduler.kv.connectors import Connector, Connectors, merged
from kernelet.scheduler.kv.counters import HANDOVER, KVCounters
from kernelet.scheduler.kv.fences import Fences
from kernelet.scheduler.kv.quorum import Quorum
from kernelet.scheduler.kv.view import KVView

logger = logging.getLogger(__name__)


@dataclass(eq=False, kw_only=True)
class OpenHandover:
    """Blocks that a connector holds."""

    connector: Connector
    hold: BlockHold
    deadline: float
    told: Quorum


@dataclass(eq=False, kw_only=True)
class Handovers:
    """Every connector holds blocks for itself: they are free when all have given them back."""

    cache: CacheManager
    connectors: Connectors
    fences: Fences
    counters: KVCounters
    config: KVTransferConfig
    num_ranks: int
    new_number: Callable[[], int]
    clock: Callable[[], float]
    _open: dict[int, OpenHandover] = field(default_factory=dict)

    @property
    def any_open(self) -> bool:
        """Whether blocks are held."""
        return bool(self._open)

    def begin(self, request: Request, view: KVView) -> dict[str, Any] | None:
        """A request ended and has its blocks still; returns what connectors say to its client.

        Raises:
            RequestFailedError: a connector failed without which the answer is worth nothing.
        """
        params: dict[str, Any] | None = None
        failed: RequestFailedError | None = None
        for connector in self.connectors:
            number = self.new_number()
            try:
                handover = connector.side.request_finished(
                    view, number, request.num_done_tokens, self.cache.block_lists(request)
                )
            except Exception as error:
                logger.exception("KV connector %s failed at the end of %s", connector.name, request.request_id)
                handover = Handover()
                if connector.requires_delivery:
                    failed = RequestFailedError(
                        f"KV connector {connector.name} could not hand over its keys and values: {error!r}"
                    )
            if handover.holds_blocks and self.cache.holds(request):
                self._open[number] = OpenHandover(
                    connector=connector,
                    hold=self.cache.hold(request),
                    deadline=self.clock() + self.config.handover_timeout,
                    told=Quorum(self.num_ranks),
                )
            params = merged(handover.kv_transfer_params, params)
        if failed is not None:
            raise failed
        return params

    def sent(self, connector: Connector, rank: int, numbers: Iterable[int]) -> None:
        """A rank tells of handovers; those that are over, unknown or another connector's are skipped."""
        for number in numbers:
            handover = self._open.get(number)
            if handover is not None and handover.connector is connector and handover.told.tell(rank):
                del self._open[number]
                self.cache.release(handover.hold)

    def poll(self) -> None:
        """Ends what takes too long."""
        now = self.clock()
        for number, handover in [one for one in self._open.items() if now >= one[1].deadline]:
            del self._open[number]
            self.counters.failures[HANDOVER] += 1
            self.fences.raise_(handover.connector.name, number, handover.hold)
            handover.connector.side.cancel(number)
