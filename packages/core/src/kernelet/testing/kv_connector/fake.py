"""A connector that keeps tokens in memory, and does to each load and handover what its script says.

``Settings(plugin=..., values={"world": World(...)})`` brings the script; both sides are in one process.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import msgspec
import torch
from torch import Tensor

from kernelet.contracts.cache import NULL_BLOCK
from kernelet.contracts.kv import (
    LATER,
    Handover,
    KVConnectorContext,
    KVConnectorOffer,
    KVRequest,
    KVStep,
    KVWorkerContext,
    Later,
    ScheduledKV,
    SchedulerSide,
    Ticket,
    TransferResults,
    WorkerSide,
)
from kernelet.contracts.offer import Settings
from kernelet.testing.kv_connector.script import FOREVER, LoadScript, World
from kernelet.testing.offered import Offered

STRANGER = 1 << 50
"""A transfer that no engine has started."""


class Move(msgspec.Struct, frozen=True):
    """Tokens from ``start`` on, one key each."""

    keys: list[bytes]
    start: int
    block_ids: tuple[tuple[int, ...], ...]


class Load(msgspec.Struct, frozen=True):
    """A load and how it goes."""

    transfer: int
    move: Move
    script: LoadScript


class Hold(msgspec.Struct, frozen=True):
    """A handover that holds blocks."""

    transfer: int
    polls: int
    times: int


class Orders(msgspec.Struct, frozen=True):
    """What the worker sides are told with a step."""

    loads: list[Load]
    saves: list[Move]
    holds: list[Hold]


class _Answer(msgspec.Struct):
    """What a request is told until its ticket is settled: tokens up to ``end`` are there."""

    script: LoadScript
    end: int
    later: int


class _Running(msgspec.Struct):
    """A load on one rank: so many tokens arrive, after so many polls."""

    load: Load
    valid: int
    polls: int


class FakeScheduler(SchedulerSide):
    """Looks into the store of its world."""

    def __init__(self, settings: Settings, context: KVConnectorContext) -> None:
        super().__init__(settings, context)
        self.world = cast("World", settings.values["world"])
        self._entries = sum(len(layout.layers) for rank in context.layouts for layout in rank)
        self._answers: dict[str, _Answer] = {}
        self._saved: dict[str, int] = {}
        self._loads: list[Load] = []
        self._holds: list[Hold] = []

    def on_new_request(self, request: KVRequest) -> None:
        self._saved[request.request_id] = 0

    def get_num_new_matched_tokens(self, request: KVRequest, num_computed_tokens: int) -> Ticket | Later | None:
        if not self.context.loads:
            return None
        answer = self._answers.get(request.request_id)
        if answer is None:
            answer = self._answers[request.request_id] = self._look_up(request)
        if answer.later:
            self.world.did["later"] += 1
            return LATER
        count = answer.end - num_computed_tokens
        return Ticket(num_tokens=count, load_async=not answer.script.sync) if count > 0 else None

    def update_state_after_alloc(
        self, request: KVRequest, transfer: int, start: int, end: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> None:
        script = self._answers.pop(request.request_id).script
        self.world.did["sync" if script.sync else "async"] += 1
        self._loads.append(Load(transfer, self.move(request, start, end, block_ids), script))

    def abort(self, request: KVRequest) -> None:
        if self._answers.pop(request.request_id, None):
            self.world.did["aborted"] += 1

    def cancel(self, transfer: int) -> None:
        self.world.did["cancelled"] += 1
        self._loads = [load for load in self._loads if load.transfer != transfer]
        self._holds = [hold for hold in self._holds if hold.transfer != transfer]

    def build_connector_meta(self, step: KVStep) -> bytes:
        for answer in self._answers.values():
            answer.later = max(0, answer.later - 1)
        saves = [self._save(entry) for entry in step.scheduled] if self.context.saves else []
        orders = Orders(self._loads, [move for move in saves if move], self._holds)
        self._loads, self._holds = [], []
        return msgspec.msgpack.encode(orders)

    def request_finished(
        self, request: KVRequest, transfer: int, num_computed_tokens: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> Handover:
        self._answers.pop(request.request_id, None)
        self._saved.pop(request.request_id, None)
        end = self.world.next_end()
        if not (end.holds and any(block_ids)):
            return Handover()
        self.world.did["held"] += 1
        self._holds.append(Hold(transfer, end.polls, end.times))
        return Handover(holds_blocks=True, kv_transfer_params={"transfer": transfer})

    def reset_cache(self) -> None:
        self.world.store.tokens.clear()
        self._saved = dict.fromkeys(self._saved, FOREVER)

    def key(self, request: KVRequest, num_tokens: int) -> bytes:
        """What a token is stored under."""
        return request.key(num_tokens)

    def move(self, request: KVRequest, start: int, end: int, block_ids: Sequence[tuple[int, ...]]) -> Move:
        """Tokens [start, end) of a request."""
        return Move([self.key(request, position + 1) for position in range(start, end)], start, tuple(block_ids))

    def _look_up(self, request: KVRequest) -> _Answer:
        script, found = self.world.next_load(), 0
        while found < request.num_tokens and self.world.store.has(self.key(request, found + 1), self._entries):
            found += 1
        end = int(found * script.promised)
        self.world.did["miss" if not end else "hit" if end == found else "partial"] += 1
        return _Answer(script, end, script.later)

    def _save(self, entry: ScheduledKV) -> Move | None:
        """Tokens that are not saved, of those that are known."""
        request = entry.request
        start = self._saved.get(request.request_id, 0)
        end = min(entry.num_computed_tokens + entry.num_scheduled_tokens, request.num_tokens)
        if start >= end:
            return None
        self._saved[request.request_id] = end
        return self.move(request, start, end, entry.block_ids)


class FakeWorker(WorkerSide):
    """Copies between pages and the store of its world."""

    def __init__(self, settings: Settings, context: KVWorkerContext) -> None:
        super().__init__(settings, context)
        self.world = cast("World", settings.values["world"])
        self.pages = context.pages
        self.group_of = {layer: layout for layout in self.pages.layouts for layer in layout.layers}
        self._orders = Orders([], [], [])
        self._loading: dict[int, _Running] = {}
        self._holding: dict[int, Hold] = {}
        self._received: list[tuple[int, int]] = []
        self._sent: list[int] = []
        self._after: list[Load] = []

    def cancel(self, transfers: Collection[int]) -> None:
        for number in transfers:
            running = self._loading.pop(number, None)
            if running is not None and running.load.script.writes_after:
                self._after.append(running.load)
            self._holding.pop(number, None)

    def bind_connector_metadata(self, meta: bytes) -> None:
        self._orders = msgspec.msgpack.decode(meta, type=Orders)

    def start_load_kv(self) -> None:
        for load in self._after:
            self.world.did["wrote-after"] += 1
            for layer in self.group_of:
                self.write(load, layer, 0)
        self._after = []
        self._holding.update({hold.transfer: hold for hold in self._orders.holds})
        for load in self._orders.loads:
            self._loading[load.transfer] = _Running(load, self.valid(load), load.script.polls)
            for layer in () if load.script.sync else self.group_of:
                self.write(load, layer, self._loading[load.transfer].valid)

    def wait_for_layer_load(self, layer: str) -> None:
        for load in self._orders.loads:
            if load.script.sync and load.transfer in self._loading:
                self.write(load, layer, self._loading[load.transfer].valid)

    def save_kv_layer(self, layer: str) -> None:
        layout = self.group_of[layer]
        for move in self._orders.saves:
            blocks = move.block_ids[layout.group]
            for start, end in kept(blocks, layout.block_size, move.start, move.start + len(move.keys)):
                parts = self.pages.read(layer, blocks, start, end)
                for index, key in enumerate(move.keys[start - move.start : end - move.start]):
                    self.world.store.put(key, self.context.rank, layer, tuple(part[index].clone() for part in parts))

    def get_finished(self) -> TransferResults:
        if not self.world.store.alive:
            return TransferResults()
        received, self._received = dict(self._received), []
        sent, self._sent = set(self._sent), []
        self.world.did["twice"] += len(received) + len(sent)
        for number, running in list(self._loading.items()):
            running.polls -= 1
            if running.polls < 0:
                del self._loading[number]
                received[number] = running.valid
                self._confirmed(running)
                if running.load.script.stranger:
                    received[STRANGER] = 1
        for number, hold in list(self._holding.items()):
            self._holding[number] = msgspec.structs.replace(hold, polls=hold.polls - 1)
            if hold.polls <= 0:
                del self._holding[number]
                sent.add(number)
                self._sent += [number] * (hold.times - 1)
        return TransferResults(received=received, sent=frozenset(sent))

    def valid(self, load: Load) -> int:
        """Tokens of a load that arrive: as many as the store still has, at most."""
        wanted = int(len(load.move.keys) * load.script.delivered)
        held = self.world.store.tokens if self.world.store.alive else {}
        mine = {(self.context.rank, layer) for layer in self.group_of}
        return next(
            (index for index, key in enumerate(load.move.keys[:wanted]) if not mine <= set(held.get(key, ()))), wanted
        )

    def write(self, load: Load, layer: str, valid: int) -> None:
        """The tokens that arrive, and garbage in place of the others."""
        parts = [_garbage(part) for part in self._empty(layer, len(load.move.keys))]
        for index, key in enumerate(load.move.keys[:valid]):
            for part, stored in zip(parts, self.world.store.tokens[key][self.context.rank, layer], strict=True):
                part[index] = stored
        layout, first = self.group_of[layer], load.move.start
        blocks = load.move.block_ids[layout.group]
        for start, end in kept(blocks, layout.block_size, first, first + len(load.move.keys)):
            self.pages.write(load.transfer, layer, blocks, start, [part[start - first : end - first] for part in parts])

    def _confirmed(self, running: _Running) -> None:
        load, script = running.load, running.load.script
        self.world.did["loaded" if running.valid == len(load.move.keys) else "failed"] += 1
        self.world.did["stranger"] += script.stranger
        self._received += [(load.transfer, running.valid)] * (script.times - 1)
        if script.writes_after:
            self._after.append(load)

    def _empty(self, layer: str, count: int) -> list[Tensor]:
        layout = self.group_of[layer]
        return [
            torch.zeros(count, layout.num_kv_heads, part.width, dtype=getattr(torch, part.dtype))
            for part in layout.parts
        ]


def fake_offer(
    world: World,
    name: str = "fake",
    scheduler: type[SchedulerSide] = FakeScheduler,
    worker: type[WorkerSide] = FakeWorker,
    **fields: Any,
) -> Offered[KVConnectorOffer]:
    """A fake connector in that world."""
    offer = KVConnectorOffer(
        name=name,
        target=f"{scheduler.__module__}:{scheduler.__qualname__}",
        worker=f"{worker.__module__}:{worker.__qualname__}",
        **fields,
    )
    values: Mapping[str, Any] = {"world": world}
    return Offered(offer=offer, settings=Settings(plugin=name, values=values), target=scheduler)


def kept(block_ids: Sequence[int], block_size: int, start: int, end: int) -> list[tuple[int, int]]:
    """The stretches of tokens [start, end) whose blocks are there: a sliding window drops those behind it."""
    found: list[tuple[int, int]] = []
    for index in range(start // block_size, -(-end // block_size)):
        if block_ids[index] != NULL_BLOCK:
            first, last = max(start, index * block_size), min(end, (index + 1) * block_size)
            joined = found and found[-1][1] == first
            found.append((found.pop()[0] if joined else first, last))
    return found


def _garbage(part: Tensor) -> Tensor:
    """Bytes that no model writes, without NaN."""
    bits = part.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[part.element_size()])
    bits.fill_(0x35)
    return part
