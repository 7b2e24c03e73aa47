"""A connector that hands blocks from a request to another one: the reader pulls them from the pages that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from kernelet.contracts.kv import (
    Handover,
    KVConnectorContext,
    KVConnectorOffer,
    KVIdentity,
    KVPages,
    KVRequest,
    KVStep,
    KVWorkerContext,
    SchedulerSide,
    Ticket,
    TransferResults,
    WorkerSide,
)
from kernelet.contracts.offer import Settings
from kernelet.testing.offered import Offered

GIVES = "hand_over"
TAKES = "taken_from"


@dataclass
class Bench:
    """Where engines of one process meet.

    Attributes:
        pages: By engine and rank.
        given: What lies ready, by engine and transfer: identity, number of tokens and blocks.
        taken: Transfers that were read, by engine, one entry a rank.
    """

    pages: dict[tuple[str, int], KVPages] = field(default_factory=dict)
    given: dict[tuple[str, int], tuple[KVIdentity, int, tuple[tuple[int, ...], ...]]] = field(default_factory=dict)
    taken: list[tuple[str, int, int]] = field(default_factory=list)


class Pull(msgspec.Struct, frozen=True):
    """A load: tokens [start, end) of what an engine gives."""

    transfer: int
    engine: str
    given: int
    start: int
    end: int
    theirs: tuple[tuple[int, ...], ...]
    mine: tuple[tuple[int, ...], ...]


class HandoverScheduler(SchedulerSide):
    """Gives where a request says so, and takes what a request names."""

    def __init__(self, settings: Settings, context: KVConnectorContext) -> None:
        super().__init__(settings, context)
        self.bench = cast("Bench", settings.values["bench"])
        self._pulls: list[Pull] = []

    def get_num_new_matched_tokens(self, request: KVRequest, num_computed_tokens: int) -> Ticket | None:
        given = self._given(request)
        if given is None or given[0] != self.context.identity or not self.context.loads:
            return None
        count = min(given[1], request.num_tokens) - num_computed_tokens
        return Ticket(num_tokens=count) if count > 0 else None

    def update_state_after_alloc(
        self, request: KVRequest, transfer: int, start: int, end: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> None:
        engine, number = self._named(request)
        theirs = self.bench.given[engine, number][2]
        self._pulls.append(Pull(transfer, engine, number, start, end, theirs, block_ids))

    def cancel(self, transfer: int) -> None:
        self._pulls = [pull for pull in self._pulls if pull.transfer != transfer]
        self.bench.given.pop((self.context.engine_id, transfer), None)

    def build_connector_meta(self, step: KVStep) -> bytes:
        pulls, self._pulls = self._pulls, []
        return msgspec.msgpack.encode(pulls)

    def request_finished(
        self, request: KVRequest, transfer: int, num_computed_tokens: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> Handover:
        asked = (request.kv_transfer_params or {}).get(GIVES)
        if not (asked and self.context.saves and num_computed_tokens):
            return Handover()
        self.bench.given[self.context.engine_id, transfer] = (self.context.identity, num_computed_tokens, block_ids)
        return Handover(holds_blocks=True, kv_transfer_params={TAKES: [self.context.engine_id, transfer]})

    def _named(self, request: KVRequest) -> tuple[str, int]:
        engine, transfer = (request.kv_transfer_params or {}).get(TAKES) or ("", 0)
        return engine, transfer

    def _given(self, request: KVRequest) -> tuple[KVIdentity, int, tuple[tuple[int, ...], ...]] | None:
        return self.bench.given.get(self._named(request))


class HandoverWorker(WorkerSide):
    """Reads from the other engine's pages, and tells it."""

    def __init__(self, settings: Settings, context: KVWorkerContext) -> None:
        super().__init__(settings, context)
        self.bench = cast("Bench", settings.values["bench"])
        self.bench.pages[context.engine_id, context.rank] = context.pages
        self._pulls: list[Pull] = []
        self._received: dict[int, int] = {}

    def bind_connector_metadata(self, meta: bytes) -> None:
        self._pulls = msgspec.msgpack.decode(meta, type=list[Pull])

    def start_load_kv(self) -> None:
        for pull in self._pulls:
            self._received[pull.transfer] = self._pull(pull)

    def get_finished(self) -> TransferResults:
        mine = [entry for entry in self.bench.taken if entry[::2] == (self.context.engine_id, self.context.rank)]
        self.bench.taken = [entry for entry in self.bench.taken if entry not in mine]
        received, self._received = self._received, {}
        return TransferResults(received=received, sent=frozenset(number for _, number, _ in mine))

    def _pull(self, pull: Pull) -> int:
        """The tokens that came: none, where the engine has taken its blocks back meanwhile."""
        context, source = self.context, self.bench.pages[pull.engine, self.context.rank]
        for layout in context.pages.layouts:
            for layer in layout.layers:
                parts = source.read(layer, pull.theirs[layout.group], pull.start, pull.end)
                context.pages.write(pull.transfer, layer, pull.mine[layout.group], pull.start, parts)
        if (pull.engine, pull.given) not in self.bench.given:
            return 0
        self.bench.taken.append((pull.engine, pull.given, context.rank))
        return pull.end - pull.start


def handover_offer(
    bench: Bench, scheduler: type[SchedulerSide] = HandoverScheduler, worker: type[WorkerSide] = HandoverWorker
) -> Offered[KVConnectorOffer]:
    """The connector; engines that share a bench find each other."""
    offer = KVConnectorOffer(
        name="handover",
        target=f"{scheduler.__module__}:{scheduler.__qualname__}",
        worker=f"{worker.__module__}:{worker.__qualname__}",
        params=(GIVES, TAKES),
    )
    values: Mapping[str, Any] = {"bench": bench}
    return Offered(offer=offer, settings=Settings(plugin="handover", values=values), target=scheduler)
