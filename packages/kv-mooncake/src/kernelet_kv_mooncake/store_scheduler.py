"""Which chunks of tokens are looked up, loaded and stored."""

from __future__ import annotations

import itertools
import os
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import msgspec

from kernelet.contracts.kv import (
    LATER,
    Handover,
    KVConnectorContext,
    KVRequest,
    KVStep,
    Later,
    ScheduledKV,
    SchedulerSide,
    Ticket,
)
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_kv_mooncake.store_orders import Chunk, Fetch, Lookup, Orders, Report, Save

KNOWN = 1 << 16
"""Keys that are remembered as stored; storing again is harmless, and costs a copy."""
SALT = 16
"""Random bytes of the names after ``reset_cache``."""


@dataclass
class _Asked:
    """A lookup.

    Attributes:
        number: Its number.
        first: The first chunk that was asked for.
        keys: Of that and the next ones.
        ranks: Ranks that have answered.
        found: Chunks that all of those have.
    """

    number: int
    first: int
    keys: tuple[bytes, ...]
    ranks: int = 0
    found: int = 0


class StoreScheduler(SchedulerSide):
    """The store is asked by workers: the library is in their processes only, and nothing waits here."""

    def __init__(self, settings: Settings, context: KVConnectorContext) -> None:
        super().__init__(settings, context)
        chunk = settings["chunk"]
        if not isinstance(chunk, int) or not 1 <= chunk <= context.max_model_len:
            raise ConfigError(f"kv-mooncake.chunk must be from 1 to {context.max_model_len} tokens, not {chunk!r}")
        self._chunk = chunk
        self._numbers = itertools.count()
        self._asked: dict[str, _Asked] = {}
        self._by_number: dict[int, _Asked] = {}
        self._marks: Counter[str] = Counter()
        self._salt = b""
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._lookups: list[Lookup] = []
        self._fetches: dict[int, Fetch] = {}

    def get_num_new_matched_tokens(self, request: KVRequest, num_computed_tokens: int) -> Ticket | Later | None:
        if not self.context.loads:
            return None
        asked = self._asked.get(request.request_id)
        if asked is None:
            asked = self._ask(request, num_computed_tokens)
        if asked.ranks < len(self.context.layouts):
            return LATER
        end = (asked.first + asked.found) * self._chunk
        if end <= num_computed_tokens or num_computed_tokens < asked.first * self._chunk:
            return None
        return Ticket(num_tokens=end - num_computed_tokens, load_async=True)

    def update_state_after_alloc(
        self, request: KVRequest, transfer: int, start: int, end: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> None:
        asked = self._forget(request.request_id)
        assert asked is not None
        first = start // self._chunk
        known = zip(range(first, -(-end // self._chunk)), asked.keys[first - asked.first :], strict=False)
        chunks = tuple(self._at(index, key) for index, key in known)
        self._marks[request.request_id] += 0  # it has begun, as ``reset_cache`` sees it
        self._fetches[transfer] = Fetch(transfer=transfer, chunks=chunks, start=start, end=end, block_ids=block_ids)

    def abort(self, request: KVRequest) -> None:
        self._forget(request.request_id)

    def cancel(self, transfer: int) -> None:
        self._fetches.pop(transfer, None)

    def build_connector_meta(self, step: KVStep) -> bytes:
        for scheduled in step.scheduled:
            self._forget(scheduled.request.request_id)
        saves = tuple(itertools.chain.from_iterable(map(self._saves, step.scheduled))) if self.context.saves else ()
        if not saves and not self._lookups and not self._fetches:
            return b""
        orders = Orders(lookups=tuple(self._lookups), fetches=tuple(self._fetches.values()), saves=saves)
        self._lookups, self._fetches = [], {}
        return msgspec.msgpack.encode(orders)

    def request_finished(
        self, request: KVRequest, transfer: int, num_computed_tokens: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> Handover:
        self._forget(request.request_id)
        self._marks.pop(request.request_id, None)
        return Handover()

    def update_connector_output(self, outputs: Sequence[bytes]) -> None:
        for data in outputs:
            if data:
                self._take(msgspec.msgpack.decode(data, type=Report))

    def reset_cache(self) -> None:
        """From now on this engine's objects have names that nobody knows: the store has other users, and what is on its
        way there is of before.
        """
        self._salt = os.urandom(SALT)
        self._known.clear()
        self._by_number.clear()
        self._lookups.clear()
        for asked in self._asked.values():
            asked.keys, asked.found, asked.ranks = (), 0, len(self.context.layouts)
        self._fetches = {number: msgspec.structs.replace(one, chunks=()) for number, one in self._fetches.items()}
        self._marks = Counter(dict.fromkeys(self._marks, self.context.max_model_len))

    def has_pending_work(self) -> bool:
        return bool(self._lookups or self._fetches or self._by_number)

    def _key(self, request: KVRequest, num_tokens: int) -> bytes:
        key = request.key(num_tokens)
        return blake2b(key, key=self._salt, digest_size=len(key)).digest() if self._salt else key

    def _ask(self, request: KVRequest, num_computed_tokens: int) -> _Asked:
        first = num_computed_tokens // self._chunk
        ends = range(first + 1, request.num_tokens // self._chunk + 1)
        keys = tuple(self._key(request, index * self._chunk) for index in ends)
        asked = _Asked(number=next(self._numbers), first=first, keys=keys, found=len(keys))
        self._asked[request.request_id] = asked
        if keys:
            self._by_number[asked.number] = asked
            self._lookups.append(Lookup(number=asked.number, keys=keys))
        else:
            asked.ranks = len(self.context.layouts)
        return asked

    def _take(self, report: Report) -> None:
        for key in report.unsaved:
            self._known.pop(key, None)
        for number, found in report.found.items():
            asked = self._by_number.get(number)
            if asked is None:
                continue
            asked.ranks += 1
            asked.found = min(asked.found, found)
            if asked.ranks == len(self.context.layouts):
                del self._by_number[number]
                for key in asked.keys[: asked.found]:
                    self._remember(key)
                for key in asked.keys[asked.found :]:
                    self._known.pop(key, None)

    def _forget(self, request_id: str) -> _Asked | None:
        asked = self._asked.pop(request_id, None)
        if asked is not None:
            self._by_number.pop(asked.number, None)
            self._lookups = [lookup for lookup in self._lookups if lookup.number != asked.number]
        return asked

    def _saves(self, scheduled: ScheduledKV) -> Iterator[Save]:
        """Chunks that are complete after the step; each once a request."""
        request = scheduled.request
        first, end = self._marks[request.request_id], scheduled.num_ready_tokens // self._chunk
        self._marks[request.request_id] = max(first, end)
        for index in range(first, end):
            chunk = self._at(index, self._key(request, (index + 1) * self._chunk))
            blocks = scheduled.blocks_of(self.context.layouts[0], chunk.start, chunk.end)
            if chunk.key not in self._known and blocks is not None:
                self._remember(chunk.key)
                yield Save(chunk=chunk, block_ids=scheduled.block_ids)

    def _at(self, index: int, key: bytes) -> Chunk:
        return Chunk(key=key, start=index * self._chunk, end=(index + 1) * self._chunk)

    def _remember(self, key: bytes) -> None:
        self._known[key] = None
        self._known.move_to_end(key)
        if len(self._known) > KNOWN:
            self._known.popitem(last=False)
