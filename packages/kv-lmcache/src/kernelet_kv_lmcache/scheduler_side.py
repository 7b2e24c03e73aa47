"""Decides what is looked up, loaded and saved; all calls are made by the agents of ranks."""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b

import msgspec

from kernelet.contracts.kv import (
    LATER,
    Handover,
    KVConnectorContext,
    KVRequest,
    KVStep,
    Later,
    SchedulerSide,
    Ticket,
)
from kernelet.contracts.offer import Settings
from kernelet_kv_lmcache.options import address, check, check_chunk
from kernelet_kv_lmcache.orders import Free, Load, Lookup, Orders, Report, Save
from kernelet_kv_lmcache.server import LMCacheServer

log = logging.getLogger("kernelet")

SALT = 32
SPOILED = 4096
"""Keys of spoiled chunks that are remembered."""


class Ask(msgspec.Struct):
    """A lookup of so many chunks; ``hits`` is None until its answer comes."""

    session: str
    keys: list[bytes]
    hits: int | None = None


class Entry(msgspec.Struct):
    """A request.

    Attributes:
        keys: Of its first chunks, as far as they were needed.
        stored: Chunks that are in the store, or on their way there.
        ask: Its lookup, until it is settled.
        closed: Nothing more of it is saved.
    """

    keys: list[bytes]
    stored: int = 0
    ask: Ask | None = None
    closed: bool = False


class LMCacheSchedulerSide(SchedulerSide):
    """A request is looked up when it comes, loaded chunk by chunk, and saved as its chunks are computed.

    What ranks had no room for in a step is saved with a later one, at last when the request has ended.
    """

    def __init__(self, settings: Settings, context: KVConnectorContext) -> None:
        super().__init__(settings, context)
        check(settings)
        told = [msgspec.msgpack.decode(data, type=Report) for data in context.handshakes if data]
        own = bool(settings["spawn"])
        self._chunk = int(settings["chunk_size"] or 0) if own else max((one.chunk for one in told), default=0)
        check_chunk(self._chunk, context.max_model_len, own=own)
        self._server = LMCacheServer(settings) if own else None
        self._url = self._server.url if self._server else address(settings)
        self._alive = dict.fromkeys(range(len(context.layouts)), True)
        if not self._server:
            self._alive |= {rank: one.alive for rank, one in enumerate(told)}
        self._entries: dict[str, Entry] = {}
        self._left: dict[str, list[bytes]] = {}
        self._spoiled: OrderedDict[bytes, None] = OrderedDict()
        self._sessions = 0
        self._salt = b""
        self._begin()

    def _begin(self) -> None:
        self._orders = Orders(self._url, self._chunk if self._server else 0, [], [], [], [])

    def on_new_request(self, request: KVRequest) -> None:
        self._entries[request.request_id] = Entry([])

    # --- loads -----------------------------------------------------------------------------------

    def get_num_new_matched_tokens(self, request: KVRequest, num_computed_tokens: int) -> Ticket | Later | None:
        entry = self._entries[request.request_id]
        ask = entry.ask or self._ask(entry, request, num_computed_tokens)
        if ask is None:
            return None
        if ask.hits is None:
            return LATER
        count = ask.hits * self._chunk - num_computed_tokens
        if count > 0:
            return Ticket(num_tokens=count)
        if ask.hits:
            self._free(ask, 0, ask.hits)
            ask.hits = 0
        return None

    def _ask(self, entry: Entry, request: KVRequest, num_computed_tokens: int) -> Ask | None:
        if not (self.context.loads and self._usable):
            return None
        count = request.num_tokens // self._chunk
        if count * self._chunk <= num_computed_tokens:
            return None
        self._sessions += 1
        ask = Ask(f"{self.context.engine_id}-{self._sessions}", self._keys(entry, request, count))
        entry.ask = ask
        self._orders.lookups.append(Lookup(ask.session, ask.keys))
        return ask

    def _keys(self, entry: Entry, request: KVRequest, count: int) -> list[bytes]:
        """Those of so many chunks; after a reset others than before, and so for what is spoiled."""
        new = [request.key((index + 1) * self._chunk) for index in range(len(entry.keys), count)]
        entry.keys += map(self._named, new)
        return entry.keys[:count]

    def _named(self, key: bytes) -> bytes:
        """A server replaces no chunk: one that is spoiled is stored under the next name, by every engine."""
        if self._salt:
            key = blake2b(key, key=self._salt, digest_size=len(key)).digest()
        while key in self._spoiled:
            key = blake2b(key, person=b"spoiled", digest_size=len(key)).digest()
        return key

    @property
    def _usable(self) -> bool:
        return self._chunk > 0 and all(self._alive.values())

    def _free(self, ask: Ask, first: int, last: int, *, ends: bool = True) -> None:
        """Lets go of chunks that a lookup holds."""
        if first < last or ends:
            self._orders.frees.append(Free(ask.session, ask.keys, first, last, ends))

    def update_state_after_alloc(
        self, request: KVRequest, transfer: int, start: int, end: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> None:
        entry = self._entries[request.request_id]
        ask, entry.ask = entry.ask, None
        assert ask is not None
        assert ask.hits is not None
        first, last = start // self._chunk, -(-end // self._chunk)
        self._free(ask, 0, first, ends=False)
        self._free(ask, last, ask.hits, ends=False)
        self._orders.loads.append(Load(transfer, ask.session, ask.keys[:last], start, end, block_ids[0]))

    def abort(self, request: KVRequest) -> None:
        entry = self._entries[request.request_id]
        ask, entry.ask = entry.ask, None
        if ask is None:
            return
        if ask.hits is None:
            self._left[ask.session] = ask.keys
        elif ask.hits:
            self._free(ask, 0, ask.hits)

    def cancel(self, transfer: int) -> None:
        orders = self._orders
        orders.saves[:] = [save for save in orders.saves if save.transfer != transfer]
        for load in [load for load in orders.loads if load.transfer == transfer]:
            orders.loads.remove(load)
            self._free(Ask(load.session, load.keys), load.start // self._chunk, len(load.keys))

    # --- saves -----------------------------------------------------------------------------------

    def _save(self, request: KVRequest, transfer: int, num_tokens: int, block_ids: Sequence[int]) -> bool:
        """Orders what is computed and not stored; whether there is any."""
        if not (self.context.saves and self._usable):
            return False
        entry = self._entries[request.request_id]
        if entry.closed:
            return False
        first, count = entry.stored, min(num_tokens, request.num_tokens) // self._chunk
        if count <= first:
            return False
        if first * self._chunk < self.context.layouts[0][0].first_kept(block_ids):
            return False  # of a sliding window, whose older tokens are gone
        keys = self._keys(entry, request, count)
        self._orders.saves.append(Save(transfer, request.request_id, keys, first, tuple(block_ids)))
        entry.stored = count
        return True

    def request_finished(
        self, request: KVRequest, transfer: int, num_computed_tokens: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> Handover:
        self.abort(request)
        holds = bool(block_ids and block_ids[0]) and self._save(request, transfer, num_computed_tokens, block_ids[0])
        del self._entries[request.request_id]
        return Handover(holds_blocks=holds)

    # --- steps -----------------------------------------------------------------------------------

    def build_connector_meta(self, step: KVStep) -> bytes:
        if self._server:
            self._server.look()
        for one in step.scheduled:
            self._save(one.request, 0, one.num_ready_tokens, one.block_ids[0])
        meta = msgspec.msgpack.encode(self._orders)
        self._begin()
        return meta

    def update_connector_output(self, outputs: Sequence[bytes]) -> None:
        for rank, data in enumerate(outputs):
            if data:
                self._take(rank, msgspec.msgpack.decode(data, type=Report))

    def _take(self, rank: int, report: Report) -> None:
        self._alive[rank] = report.alive
        self._chunk = self._chunk or report.chunk
        for key in report.spoiled:
            self._spoiled[key] = None
            self._rename(key)
        while len(self._spoiled) > SPOILED:
            self._spoiled.popitem(last=False)
        for name, count in report.short.items():
            if entry := self._entries.get(name):
                entry.stored = min(entry.stored, count)
        self._answer(report.found)

    def _rename(self, spoiled: bytes) -> None:
        """Requests store a spoiled chunk, and those behind it, under other names."""
        for entry in self._entries.values():
            if spoiled in entry.keys:
                at = entry.keys.index(spoiled)
                entry.keys, entry.stored = entry.keys[:at], min(entry.stored, at)

    def _answer(self, found: Mapping[str, int]) -> None:
        for entry in self._entries.values() if found else ():
            if entry.ask and (hits := found.get(entry.ask.session)) is not None:
                keys = entry.ask.keys
                entry.ask.hits = next((i for i, key in enumerate(keys[:hits]) if key in self._spoiled), hits)
                entry.stored = max(entry.stored, entry.ask.hits)
                self._free(entry.ask, entry.ask.hits, hits, ends=not entry.ask.hits)
        for session, hits in found.items():
            if (left := self._left.pop(session, None)) is not None:
                self._free(Ask(session, left), 0, hits)

    def has_pending_work(self) -> bool:
        orders = self._orders
        return bool(self._left or orders.frees or orders.loads or orders.saves)

    def reset_cache(self) -> None:
        """Gives chunks other keys: the server may have other users, and tiers that it clears for nobody."""
        self._salt = os.urandom(SALT)
        for entry in self._entries.values():
            entry.keys, entry.closed = [], True

    def shutdown(self) -> None:
        if self._server:
            self._server.stop()
