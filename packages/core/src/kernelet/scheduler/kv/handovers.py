"""Handovers: requests that ended, whose blocks a connector still needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from kernelet.cache.manager import CacheManager
from kernelet.cache.tables import BlockHold
from kernelet.config.kv import KVTransferConfig
from kernelet.errors import RequestFailedError
from kernelet.request.request import Request
from kernelet.scheduler.kv.connectors import Connector, Connectors, merged
from kernelet.scheduler.kv.counters import HANDOVER, OFF, KVCounters
from kernelet.scheduler.kv.fences import Fences
from kernelet.scheduler.kv.quorum import Quorum
from kernelet.scheduler.kv.view import KVView


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
            handover = connector.side.request_finished(
                view, number, request.num_done_tokens, self.cache.block_lists(request)
            )
            if connector.side.off and connector.requires_delivery:
                failed = undelivered(connector)
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

    def drop(self, connector: Connector) -> None:
        """A connector is switched off: what it holds comes back."""
        for number in [number for number, one in self._open.items() if one.connector is connector]:
            self._end(number, OFF)

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
        for number in [number for number, one in self._open.items() if now >= one.deadline]:
            self._end(number, HANDOVER)

    def _end(self, number: int, kind: str) -> None:
        """Before it is over."""
        handover = self._open.pop(number)
        self.counters.failures[kind] += 1
        self.fences.raise_(handover.connector.name, number, handover.hold)
        handover.connector.side.cancel(number)


def undelivered(connector: Connector) -> RequestFailedError:
    """A connector is switched off without which an answer is worth nothing."""
    return RequestFailedError(
        f"KV connector {connector.name}, which must hand over keys and values, is switched off ({connector.side.off}): "
        "send the request to another engine, or start this one again"
    )
