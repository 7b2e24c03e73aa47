"""Wrong connectors."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from kernelet.contracts.kv import (
    LATER,
    Handover,
    KVConnectorContext,
    KVConnectorOffer,
    KVRequest,
    KVStep,
    KVWorkerContext,
    Later,
    SchedulerSide,
    Ticket,
    TransferResults,
    WorkerSide,
)
from kernelet.contracts.offer import Settings
from kernelet.testing.faults import Fault
from kernelet.testing.kv_connector.fake import FakeScheduler, FakeWorker, Load, fake_offer
from kernelet.testing.kv_connector.handover import GIVES, Bench, HandoverScheduler, HandoverWorker, handover_offer
from kernelet.testing.kv_connector.pages import PlainPages
from kernelet.testing.kv_connector.rig import EXACT, FENCE, PAUSE
from kernelet.testing.kv_connector.scene import FOUND, KVConnectorCapabilities
from kernelet.testing.kv_connector.script import FOREVER, LoadScript, World
from kernelet.testing.kv_connector.suite import ENDED, FORGETS, LAYOUTS, OWNERS, RANKS, STALE, KVConnectorSuite
from kernelet.testing.offered import Offered

PATIENCE = 0.3


def suite_of(
    scheduler: type[Any] = FakeScheduler, worker: type[Any] = FakeWorker, script: LoadScript | None = None
) -> type[KVConnectorSuite]:
    """The suite as the author of that connector writes it."""

    class Faulty(KVConnectorSuite):
        capabilities = KVConnectorCapabilities(shared=True, persistent=True, patience=PATIENCE, examples=10)

        @pytest.fixture
        def offered(self) -> Offered[KVConnectorOffer]:
            return fake_offer(World([script or LoadScript(polls=2)]), "faulty", scheduler, worker)

    return Faulty


def handing(
    scheduler: type[SchedulerSide] = HandoverScheduler, worker: type[WorkerSide] = HandoverWorker
) -> type[KVConnectorSuite]:
    """The same for a connector that hands over."""

    class FaultyHandover(KVConnectorSuite):
        capabilities = KVConnectorCapabilities(
            keeps=False, producer_params={GIVES: True}, patience=PATIENCE, examples=4
        )

        @pytest.fixture
        def offered(self) -> Offered[KVConnectorOffer]:
            return handover_offer(Bench(), scheduler, worker)

    return FaultyHandover


# --- wrong answers -------------------------------------------------------------------------------


class NotASide:
    def __init__(self, *_: object) -> None:
        """Takes anything."""


class Text(FakeScheduler):
    def build_connector_meta(self, step: KVStep) -> Any:
        return super().build_connector_meta(step).hex()


class AsksMoveIt(FakeScheduler):
    def get_num_new_matched_tokens(self, request: KVRequest, num_computed_tokens: int) -> Ticket | Later | None:
        found = super().get_num_new_matched_tokens(request, num_computed_tokens)
        self._answers[request.request_id].end -= 1
        return found


class CountsTwice(FakeScheduler):
    """Moves the mark of what is saved with each lookup, and hands the answer out again."""

    def get_num_new_matched_tokens(self, request: KVRequest, num_computed_tokens: int) -> Ticket | Later | None:
        found = super().get_num_new_matched_tokens(request, num_computed_tokens)
        if isinstance(found, Ticket):
            self._saved[request.request_id] += found.num_tokens
        return found


class PromisesNothing(FakeScheduler):
    def get_num_new_matched_tokens(self, request: KVRequest, num_computed_tokens: int) -> Ticket | Later | None:
        return super().get_num_new_matched_tokens(request, num_computed_tokens) or Ticket(num_tokens=0)


class PromisesMore(FakeScheduler):
    def get_num_new_matched_tokens(self, request: KVRequest, num_computed_tokens: int) -> Ticket | Later | None:
        found = super().get_num_new_matched_tokens(request, num_computed_tokens)
        return Ticket(num_tokens=request.num_tokens + 1) if isinstance(found, Ticket) else found


class HitsWhatIsNotThere(FakeScheduler):
    def get_num_new_matched_tokens(self, request: KVRequest, num_computed_tokens: int) -> Ticket | Later | None:
        found = super().get_num_new_matched_tokens(request, num_computed_tokens)
        return Ticket(num_tokens=1) if found is None and request.num_tokens > num_computed_tokens + 1 else found


class NeverKnows(FakeScheduler):
    def get_num_new_matched_tokens(self, request: KVRequest, num_computed_tokens: int) -> Ticket | Later | None:
        return LATER


# --- wrong keys ----------------------------------------------------------------------------------


class Keyed(FakeScheduler):
    """Keys of its own, from the facts of a request that ``but`` does not name."""

    but = ""

    def key(self, request: KVRequest, num_tokens: int) -> bytes:
        names = [name for name in ("identity", "adapter", "cache_salt", "media") if name != self.but]
        facts = [*(getattr(request, name) for name in names), *request.token_ids[:num_tokens], *self.extra()]
        return hashlib.sha256(repr(facts).encode()).digest()

    def extra(self) -> Sequence[object]:
        return ()


class IgnoresIdentity(Keyed):
    but = "identity"


class IgnoresSalt(Keyed):
    but = "cache_salt"


class IgnoresAdapter(Keyed):
    but = "adapter"


class IgnoresMedia(Keyed):
    but = "media"


class KeysBlocks(Keyed):
    def extra(self) -> Sequence[object]:
        return [self.context.layouts[0][0].block_size]


# --- wrong moves ---------------------------------------------------------------------------------


class AnotherLayer(FakeWorker):
    def write(self, load: Load, layer: str, valid: int) -> None:
        super().write(load, layer, valid)
        tensors = cast("PlainPages", self.pages).tensors
        for mine, other in zip(tensors["layers.1"], tensors["layers.0"], strict=True):
            mine.copy_(other)


class WholeBlocks(FakeWorker):
    """Writes up to the ends of blocks."""

    def write(self, load: Load, layer: str, valid: int) -> None:
        super().write(load, layer, valid)
        layout, end = self.group_of[layer], load.move.start + len(load.move.keys)
        for part in cast("PlainPages", self.pages).tensors[layer]:
            part[load.move.block_ids[layout.group][(end - 1) // layout.block_size], end % layout.block_size :] = 0


class FirstRanksHeads(FakeWorker):
    def __init__(self, settings: Settings, context: KVWorkerContext) -> None:
        super().__init__(settings, context)
        self._rank = context.rank

    def save_kv_layer(self, layer: str) -> None:
        super().save_kv_layer(layer)
        for entries in self.world.store.tokens.values():
            if (0, layer) in entries:
                entries[self._rank, layer] = entries[0, layer]


class SavesLate(FakeWorker):
    """Reads pages at the next step."""

    _late: Sequence[str] = ()

    def bind_connector_metadata(self, meta: bytes) -> None:
        for layer in self._late:
            super().save_kv_layer(layer)
        self._late = []
        super().bind_connector_metadata(meta)

    def save_kv_layer(self, layer: str) -> None:
        self._late = [*self._late, layer]


class WritesAfterCancel(FakeWorker):
    """Its engine for copies knows addresses, and nothing of fences."""

    def cancel(self, transfers: Collection[int]) -> None:
        self._after += [self._loading[number].load for number in transfers if number in self._loading]
        super().cancel(transfers)

    def write(self, load: Load, layer: str, valid: int) -> None:
        if load.transfer in self._loading:
            super().write(load, layer, valid)
            return
        for part in cast("PlainPages", self.pages).tensors[layer]:
            part[list(load.move.block_ids[0])] = 0


class GoesOnAfterTheEnd(FakeWorker):
    """Its thread is told to end, and not waited for."""

    def shutdown(self) -> None:
        for tensors in cast("PlainPages", self.pages).tensors.values():
            threading.Timer(PAUSE, tensors[0].zero_).start()


class ConfirmsMore(FakeWorker):
    def get_finished(self) -> TransferResults:
        found = super().get_finished()
        return TransferResults(received={number: valid + 1 for number, valid in found.received.items()})


class ConsumerSaves(FakeScheduler):
    def __init__(self, settings: Settings, context: KVConnectorContext) -> None:
        role = "both" if context.role == "consumer" else context.role
        super().__init__(settings, _with_role(context, role))


class ProducerLoads(FakeScheduler):
    def __init__(self, settings: Settings, context: KVConnectorContext) -> None:
        role = "both" if context.role == "producer" else context.role
        super().__init__(settings, _with_role(context, role))


class KeepsRequests(FakeScheduler):
    def __init__(self, settings: Settings, context: KVConnectorContext) -> None:
        super().__init__(settings, context)
        self.requests: list[KVRequest] = []

    def on_new_request(self, request: KVRequest) -> None:
        super().on_new_request(request)
        self.requests.append(request)


class ForgetsNothing(FakeScheduler):
    def reset_cache(self) -> None: ...


class GoesOnSaving(FakeScheduler):
    """What requests hold that have begun is saved again."""

    def reset_cache(self) -> None:
        self.world.store.tokens.clear()
        self._saved = dict.fromkeys(self._saved, 0)


class ForgetsAtRestart(FakeScheduler):
    def shutdown(self) -> None:
        self.world.store.tokens.clear()


# --- wrong handovers -----------------------------------------------------------------------------


class NeverLetsGo(HandoverWorker):
    def get_finished(self) -> TransferResults:
        return TransferResults(received=super().get_finished().received)


class HoldsNothing(HandoverScheduler):
    def request_finished(
        self, request: KVRequest, transfer: int, num_computed_tokens: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> Handover:
        said = super().request_finished(request, transfer, num_computed_tokens, block_ids)
        return Handover(kv_transfer_params=said.kv_transfer_params)


class SaysNothing(HandoverScheduler):
    def request_finished(
        self, request: KVRequest, transfer: int, num_computed_tokens: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> Handover:
        said = super().request_finished(request, transfer, num_computed_tokens, block_ids)
        return Handover(holds_blocks=said.holds_blocks)


class NoLease(HandoverScheduler):
    """Leaves what it gave on the bench when its deadline has passed."""

    def cancel(self, transfer: int) -> None:
        given = dict(self.bench.given)
        super().cancel(transfer)
        self.bench.given.update(given)


def _with_role(context: KVConnectorContext, role: str) -> KVConnectorContext:
    return replace(context, role=role)


_UNCONFIRMED = "a load must be confirmed: get_finished() never named it"
_PLANTED: tuple[tuple[str, type[KVConnectorSuite], str], ...] = (
    ("is-no-scheduler-side", suite_of(scheduler=NotASide), "is no SchedulerSide"),
    ("is-no-worker-side", suite_of(worker=NotASide), "is no WorkerSide"),
    ("tells-workers-text", suite_of(Text), "build_connector_meta() must return bytes"),
    ("answers-otherwise-when-asked-again", suite_of(AsksMoveIt), "must give the same answer until its ticket"),
    ("counts-a-lookup-as-saved", suite_of(CountsTwice), FOUND),
    ("promises-nothing", suite_of(PromisesNothing), "a ticket must promise more than 0 tokens"),
    ("promises-too-much", suite_of(PromisesMore), "a ticket must not promise more tokens than the request has"),
    ("promises-what-nobody-computed", suite_of(HitsWhatIsNotThere), "what nobody has computed must be a miss"),
    ("says-later-for-ever", suite_of(NeverKnows), "LATER must come to an end"),
    ("ignores-the-identity", suite_of(IgnoresIdentity), "keys and values of another KVIdentity must be a miss"),
    ("ignores-the-salt", suite_of(IgnoresSalt), "another cache_salt must be a miss"),
    ("ignores-the-adapter", suite_of(IgnoresAdapter), "another adapter must be a miss"),
    ("ignores-media", suite_of(IgnoresMedia), "another media must be a miss"),
    ("stores-blocks-of-its-own-size", suite_of(KeysBlocks), LAYOUTS),
    ("loads-another-layer", suite_of(worker=AnotherLayer), EXACT),
    ("writes-to-the-end-of-a-block", suite_of(worker=WholeBlocks), "leave all others as they are"),
    ("gives-each-rank-the-heads-of-the-first", suite_of(worker=FirstRanksHeads), RANKS),
    ("reads-pages-after-the-step", suite_of(worker=SavesLate), OWNERS),
    ("writes-after-a-cancel", suite_of(worker=WritesAfterCancel), FENCE),
    ("goes-on-after-the-end", suite_of(worker=GoesOnAfterTheEnd), ENDED),
    ("confirms-more-than-it-was-told", suite_of(worker=ConfirmsMore), "must not confirm more tokens than it was told"),
    ("never-confirms", suite_of(script=LoadScript(polls=FOREVER)), _UNCONFIRMED),
    ("confirms-twice", suite_of(script=LoadScript(times=2)), "must name a transfer once, on each rank"),
    ("confirms-a-stranger", suite_of(script=LoadScript(stranger=True)), "must name transfers that were started"),
    (
        "confirms-a-sync-load-later",
        suite_of(script=LoadScript(sync=True, polls=1)),
        "a sync load must be confirmed by get_finished() of its own step",
    ),
    ("saves-as-a-consumer", suite_of(ConsumerSaves), "a consumer must not save"),
    ("loads-as-a-producer", suite_of(ProducerLoads), "a producer must not load"),
    ("keeps-requests-that-ended", suite_of(KeepsRequests), "a request that ended must be let go"),
    ("forgets-nothing", suite_of(ForgetsNothing), FORGETS),
    ("goes-on-saving-after-a-reset", suite_of(GoesOnSaving), "also where a request goes on with it"),
    ("forgets-at-a-restart", suite_of(ForgetsAtRestart), "must be there after shutdown() and a restart"),
    ("never-lets-go", handing(worker=NeverLetsGo), "a handover must come to an end"),
    ("holds-no-blocks", handing(HoldsNothing), "request_finished() must hold the blocks that it hands over"),
    ("says-nothing-to-the-reader", handing(SaysNothing), "request_finished() must say in kv_transfer_params"),
    ("reads-blocks-that-were-taken-back", handing(NoLease), STALE),
)

FAULTS = tuple(Fault(name=name, suite=suite, says=says) for name, suite, says in _PLANTED)
