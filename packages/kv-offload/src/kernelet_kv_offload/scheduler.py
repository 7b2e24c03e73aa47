"""The side that decides: which chunks are loaded, which are saved, and what goes for it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from kernelet.contracts.kv import Handover, KVConnectorContext, KVRequest, KVStep, ScheduledKV, SchedulerSide, Ticket
from kernelet.contracts.offer import Settings
from kernelet_kv_offload.index import Chunk, Index
from kernelet_kv_offload.messages import Load, Loaded, Meta, Report, Save, Source, decode_report, encode
from kernelet_kv_offload.options import Options

logger = logging.getLogger(__name__)


@dataclass
class Asked:
    """What a request was promised: its chunks from ``first`` on, pinned; none: nothing."""

    first: int
    chunks: list[Chunk]


@dataclass
class Known:
    """A request.

    Attributes:
        asked: What was answered, until it is settled.
        saved: Chunks from the first on that need not be saved any more.
    """

    asked: Asked | None = None
    saved: int = 0


@dataclass
class Loading:
    """A load that some rank is not through with.

    Attributes:
        chunks: Pinned.
        coming: Those that it brings from disk into memory.
        ranks: Ranks that are not through.
        filled: Slots that were filled on every other rank.
    """

    chunks: list[Chunk]
    coming: list[Chunk]
    ranks: int
    filled: set[int] = field(default_factory=set)


class OffloadScheduler(SchedulerSide):
    """Chunks are saved once all their tokens are computed, and loaded as far as they follow each other."""

    def __init__(self, settings: Settings, context: KVConnectorContext) -> None:
        super().__init__(settings, context)
        options = Options.of(settings, context.layouts[0])
        if options.chunk_tokens > context.max_model_len:
            logger.warning(
                "nothing will be kept: requests have at most %d tokens, and a chunk has %d: give less with "
                "--set %s.chunk_tokens=N",
                context.max_model_len,
                options.chunk_tokens,
                settings.plugin,
            )
        slots = options.num_slots(context.layouts)
        self._tokens = options.chunk_tokens
        self._layouts = context.layouts[0]
        self._world_size = len(context.layouts)
        self._index = Index(slots, self._world_size, options.policy(context.eviction, slots))
        for rank, keys in enumerate(context.handshakes):
            self._index.found(rank, msgspec.msgpack.decode(keys, type=list[bytes]) if keys else ())
        self._known: dict[str, Known] = {}
        self._loads: list[Load] = []
        self._loading: dict[int, Loading] = {}
        self._saving: dict[int, tuple[int, int]] = {}
        """Ranks that have not saved a slot, and those that have not released it."""
        self._generation = self._sent_generation = 0
        self._counts: Counter[str] = Counter()

    def get_num_new_matched_tokens(self, request: KVRequest, num_computed_tokens: int) -> Ticket | None:
        if not self.context.loads:
            return None
        known = self._known.setdefault(request.request_id, Known())
        if known.asked is None:
            known.asked = self._look_up(request, num_computed_tokens)
        asked = known.asked
        end = (asked.first + len(asked.chunks)) * self._tokens
        if not asked.chunks or not asked.first * self._tokens <= num_computed_tokens < end:
            return None
        return Ticket(num_tokens=end - num_computed_tokens)

    def update_state_after_alloc(
        self, request: KVRequest, transfer: int, start: int, end: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> None:
        known = self._known[request.request_id]
        asked, known.asked = known.asked, None
        assert asked is not None, f"{request.request_id} was promised nothing"
        skipped = start // self._tokens - asked.first
        count = -(-end // self._tokens) - asked.first
        chunks = asked.chunks[skipped:count]
        self._index.unpin(reversed(asked.chunks[:skipped] + asked.chunks[count:]))
        sources = tuple(map(self._source, chunks))
        coming = [chunk for chunk, source in zip(chunks, sources, strict=True) if source.slot and not source.filled]
        self._loading[transfer] = Loading(chunks, coming, self._world_size)
        self._loads.append(Load(transfer, start, end, block_ids, sources))

    def abort(self, request: KVRequest) -> None:
        self._settle(self._known.get(request.request_id))

    def cancel(self, transfer: int) -> None:
        unsent = [load for load in self._loads if load.transfer == transfer]
        if unsent:
            self._loads.remove(unsent[0])
            self._end_load(self._loading.pop(transfer))

    def build_connector_meta(self, step: KVStep) -> bytes:
        saves: list[Save] = []
        if self.context.saves:
            for scheduled in step.scheduled:
                self._save(scheduled, saves)
        evictions, self._index.evictions = self._index.evictions, 0
        if evictions:
            self._counts["memory_evictions"] += evictions
        if not (saves or self._loads or self._counts or self._generation != self._sent_generation):
            return b""
        loads, self._loads = tuple(self._loads), []
        counts, self._counts = self._counts, Counter()
        self._sent_generation = self._generation
        return encode(Meta(self._generation, loads, tuple(saves), dict(counts)))

    def request_preempted(self, request: KVRequest) -> None:
        self._settle(self._known.pop(request.request_id, None))

    def request_finished(
        self, request: KVRequest, transfer: int, num_computed_tokens: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> Handover:
        known = self._known.pop(request.request_id, None)
        self._settle(known)
        if known is not None and self.context.saves:
            missed = min(num_computed_tokens, request.num_tokens) // self._tokens - known.saved
            if missed > 0:
                self._counts["skipped_saves"] += missed
        return Handover()

    def update_connector_output(self, outputs: Sequence[bytes]) -> None:
        for rank, output in enumerate(outputs):
            if output:
                self._take(rank, decode_report(output))

    def has_pending_work(self) -> bool:
        return self._generation != self._sent_generation

    def reset_cache(self) -> None:
        self._index.clear()
        for known in self._known.values():
            known.saved = self.context.max_model_len  # nothing more of what has begun
        self._generation += 1

    def _look_up(self, request: KVRequest, num_computed_tokens: int) -> Asked:
        first = num_computed_tokens // self._tokens
        chunks: list[Chunk] = []
        for number in range(first, request.num_tokens // self._tokens):
            chunk = self._index.find(request.key((number + 1) * self._tokens))
            if chunk is None:
                break
            self._index.pin(chunk)
            chunks.append(chunk)
        if request.num_tokens // self._tokens > first:
            self._counts["hits" if chunks else "misses"] += 1
        return Asked(first, chunks)

    def _source(self, chunk: Chunk) -> Source:
        """What is on disk only comes into memory too, where there is room."""
        if chunk.filled:
            self._counts["memory_chunks"] += 1
            return Source(chunk.key, chunk.slot, filled=True)
        self._counts["disk_chunks"] += 1
        coming = chunk.slot == 0 and self._index.give_slot(chunk)
        return Source(chunk.key, chunk.slot if coming else 0, filled=False)

    def _settle(self, known: Known | None) -> None:
        if known is not None and known.asked is not None:
            self._index.unpin(reversed(known.asked.chunks))
            known.asked = None

    def _save(self, scheduled: ScheduledKV, saves: list[Save]) -> None:
        request = scheduled.request
        known = self._known.get(request.request_id)
        if known is None:
            known = self._known[request.request_id] = Known()
        for number in range(known.saved, scheduled.num_ready_tokens // self._tokens):
            start, end = number * self._tokens, (number + 1) * self._tokens
            key = request.key(end)
            if not self._index.holds(key):
                blocks = scheduled.blocks_of(self._layouts, start, end)
                if blocks is None:
                    self._counts["skipped_saves"] += 1
                else:
                    chunk = self._index.take(key)
                    if chunk is None:
                        return
                    self._saving[chunk.slot] = (self._world_size, self._world_size)
                    saves.append(Save(chunk.slot, key, tuple(start % one.block_size for one in self._layouts), blocks))
            known.saved = number + 1

    def _take(self, rank: int, report: Report) -> None:
        for slot in report.saved:
            self._count_down(slot, saved=1)
        for slot in report.released:
            self._count_down(slot, released=1)
        for loaded in report.loaded:
            self._loaded(loaded)
        if report.generation == self._generation:
            self._index.found(rank, report.found)
            self._index.lost(rank, report.lost)

    def _count_down(self, slot: int, saved: int = 0, released: int = 0) -> None:
        unsaved, unreleased = self._saving[slot]
        self._saving[slot] = unsaved - saved, unreleased - released
        chunk = self._index.at(slot)
        if unsaved == saved and saved:
            self._index.fill(chunk)
        if self._saving[slot] == (0, 0):
            del self._saving[slot]
            self._index.unpin([chunk])

    def _loaded(self, loaded: Loaded) -> None:
        loading = self._loading[loaded.transfer]
        first = loading.ranks == self._world_size
        loading.filled = set(loaded.filled) if first else loading.filled & set(loaded.filled)
        loading.ranks -= 1
        if loading.ranks == 0:
            del self._loading[loaded.transfer]
            self._end_load(loading)

    def _end_load(self, loading: Loading) -> None:
        for chunk in loading.coming:
            if chunk.slot in loading.filled:
                self._index.fill(chunk)
            else:
                self._index.leave(chunk)
        self._index.unpin(reversed(loading.chunks))
