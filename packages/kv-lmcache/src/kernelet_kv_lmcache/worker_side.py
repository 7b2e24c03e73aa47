"""Moves chunks between pages and the memory that a rank shares with its wire."""

from __future__ import annotations

import hashlib
import itertools
import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial
from typing import Any

import msgspec

from kernelet.contracts.kv import KVLayout, KVWorkerContext, TransferResults, WorkerSide
from kernelet.contracts.offer import Settings
from kernelet_kv_lmcache import wire
from kernelet_kv_lmcache.link import Link, Start, find_lmcache, starter
from kernelet_kv_lmcache.memory import Slots, token_bytes
from kernelet_kv_lmcache.options import address, check
from kernelet_kv_lmcache.orders import Load, Lookup, Orders, Report, Save
from kernelet_kv_lmcache.wire import Answer, Setup, State

log = logging.getLogger("kernelet")

SAVING = 480.0
"""Seconds that a save waits for slots at most."""
GRACE = 0.5
"""Seconds in which an agent ends that has no server."""


class Job:
    """A load or a save that is under way; ``lock`` is held while it touches pages."""

    def __init__(self, order: Load | Save) -> None:
        self.order = order
        self.over = False
        self.lock = threading.Lock()


class LMCacheWorkerSide(WorkerSide):
    """One rank's; loads and saves run beside steps, each kind in its order."""

    def __init__(self, settings: Settings, context: KVWorkerContext) -> None:
        super().__init__(settings, context)
        check(settings)
        self._layout = context.pages.layouts[0]
        self._timeout = float(settings["timeout"] or 0)
        self._orders = Orders("", 0)
        self._setup: Setup | None = None
        self._slots: Slots | None = None
        self._state = State(alive=False)
        self._known = threading.Event()
        self._changed = False
        self._found: dict[str, int] = {}
        self._spoiled: list[bytes] = []
        self._short: dict[str, int] = {}
        self._saves: list[Save] = []
        self._jobs: dict[int, Job] = {}
        self._received: dict[int, int] = {}
        self._sent: set[int] = set()
        self._stats: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._puts: set[Future[Answer]] = set()
        self._sessions = itertools.count()
        self._link = Link(self.start(), self._timeout, self._take_state)
        self._queues: dict[str, queue.SimpleQueue[Job | None]] = {
            kind: queue.SimpleQueue() for kind in ("load", "save")
        }
        self._threads = [
            threading.Thread(target=self._work, args=(kind, run), name=f"kv-lmcache-{kind}", daemon=True)
            for kind, run in (("load", self._load), ("save", self._save))
        ]
        for thread in self._threads:
            thread.start()
        if settings["url"]:
            self._connect(address(settings), 0)

    def start(self) -> Start:
        """Starts agents.

        Raises:
            ConfigError: their interpreter has no LMCache.
        """
        python = str(self.settings["python"] or "")
        find_lmcache(python)
        return starter(python, telemetry=bool(self.settings["telemetry"]))

    def get_handshake_metadata(self) -> bytes | None:
        """The chunk size of a server that is there already."""
        if self.settings["url"]:
            self._known.wait(float(self.settings["start_timeout"] or 0))
        return msgspec.msgpack.encode(Report(self._state.alive, self._state.chunk))

    # --- a step ----------------------------------------------------------------------------------

    def bind_connector_metadata(self, meta: bytes) -> None:
        self._orders = msgspec.msgpack.decode(meta, type=Orders)
        self._connect(self._orders.url, self._orders.chunk)

    def start_load_kv(self) -> None:
        orders, self._orders = self._orders, Orders("", 0)
        if self.context.rank == 0:
            for lookup in orders.lookups:
                self._look_up(lookup)
            for free in orders.frees:
                self._link.free(wire.Free(free.session, free.keys, free.first, free.last, whole=True, ends=free.ends))
        self._saves = [save for save in orders.saves if not save.transfer]
        jobs = [("load", Job(load)) for load in orders.loads]
        jobs += [("save", Job(save)) for save in orders.saves if save.transfer]
        for kind, job in jobs:
            with self._lock:
                self._jobs[job.order.transfer] = job
            self._queues[kind].put(job)

    def wait_for_save(self) -> None:
        for save in self._saves:
            first = self._copy(Job(save), deadline=0)
            if first < len(save.keys):
                with self._lock:
                    self._short[save.request] = first
        self._saves = []

    def cancel(self, transfers: Collection[int]) -> None:
        with self._lock:
            jobs = [self._jobs.pop(number) for number in transfers if number in self._jobs]
        for job in jobs:
            with job.lock:
                job.over = True

    def get_finished(self) -> TransferResults:
        with self._lock:
            received, self._received = self._received, {}
            sent, self._sent = self._sent, set()
        return TransferResults(received=received, sent=frozenset(sent))

    def build_connector_worker_meta(self) -> bytes:
        with self._lock:
            if not (self._changed or self._found or self._spoiled or self._short):
                return b""
            report = Report(self._state.alive, self._state.chunk, self._found, self._spoiled, self._short)
            self._changed, self._found, self._spoiled, self._short = False, {}, [], {}
        return msgspec.msgpack.encode(report)

    def get_kv_connector_stats(self) -> Mapping[str, float]:
        with self._lock:
            counted, self._stats = self._stats, Counter()
        return dict(counted)

    def shutdown(self) -> None:
        self._link.hurry()
        for waiting in self._queues.values():
            waiting.put(None)
        for thread in self._threads:
            thread.join()
        end = time.monotonic() + self._timeout
        for put in list(self._puts):
            try:
                put.result(max(0.0, end - time.monotonic()))
            except FutureTimeoutError:
                log.warning("kv-lmcache: chunks were not stored before the engine ended")
                break
        self._link.close(self._timeout if self._state.alive else GRACE)

    # --- the server ------------------------------------------------------------------------------

    def _connect(self, url: str, chunk: int) -> None:
        if self._setup is not None or not url:
            return
        self._setup = Setup(
            url=url,
            name=name_of(self.context, self._layout, str(self.settings["namespace"] or "")),
            rank=self.context.rank,
            world_size=self.context.world_size,
            chunk=chunk,
            token_bytes=token_bytes(self._layout),
            buffer_bytes=int(self.settings["buffer_mb"] or 0) << 20,
            timeout=self._timeout,
        )
        self._link.setup(self._setup)

    def _take_state(self, state: State) -> None:
        if state.alive and self._slots is None:
            assert self._setup is not None
            self._slots = Slots(self._layout, self._setup, state.chunk, self._link.memory)
        with self._lock:
            was, self._state, self._changed = self._state, state, True
            self._stats["connected" if state.alive else "disconnected"] += 1
        if (was.alive and not state.alive) or not (state.alive or self._known.is_set()):
            log.warning(
                "kv-lmcache: the server at %s does not answer, everything is a miss until it does: %s",
                self._setup.url if self._setup else "",
                state.reason,
            )
        elif state.alive and self._known.is_set() and not was.alive:
            log.info("kv-lmcache: the server answers again")
        self._known.set()

    def _look_up(self, lookup: Lookup) -> None:
        def found(future: Future[Answer]) -> None:
            with self._lock:
                self._found[lookup.session] = future.result().count

        self._link.call(lambda number: wire.Lookup(number, lookup.session, lookup.keys)).add_done_callback(found)

    # --- loads and saves -------------------------------------------------------------------------

    def _work(self, kind: str, run: Any) -> None:
        waiting = self._queues[kind]
        while (job := waiting.get()) is not None:
            try:
                run(job)
            except Exception:
                log.exception("kv-lmcache: a %s failed", kind)
                self._end(job, 0)

    def _end(self, job: Job, valid: int) -> None:
        with self._lock:
            if self._jobs.pop(job.order.transfer, None) is None:
                return
            if isinstance(job.order, Load):
                self._received[job.order.transfer] = valid
            else:
                self._sent.add(job.order.transfer)

    def _load(self, job: Job) -> None:
        load, slots = job.order, self._slots
        assert isinstance(load, Load)
        deadline = time.monotonic() + self.context.load_timeout
        valid = 0
        if slots is not None:
            chunk = load.start // slots.chunk
            while chunk < len(load.keys) and not job.over:
                asked, brought = self._get(job, slots, chunk, deadline)
                valid = min((chunk + brought) * slots.chunk, load.end) - load.start if brought else valid
                chunk += brought
                if brought < asked or not asked:
                    break
            self._let_go(load, chunk)
        with self._lock:
            self._stats["loaded_tokens"] += valid
            self._stats["short_loads"] += valid < load.end - load.start
        self._end(job, valid)

    def _get(self, job: Job, slots: Slots, first: int, deadline: float) -> tuple[int, int]:
        """Brings some chunks; returns how many were asked for and how many are in their pages."""
        load = job.order
        assert isinstance(load, Load)
        taken = slots.take("load", len(load.keys) - first, deadline)
        if not taken:
            return 0, 0
        keys = load.keys[: first + len(taken)]
        future = self._link.call(lambda number: wire.Get(number, load.session, keys, first, taken))
        written = 0
        try:
            answer = future.result(max(0.0, deadline - time.monotonic()))
            self._look_at(answer)
            for index in range(answer.count):
                if not self._write(job, slots, first + index, taken[index]):
                    break
                written += 1
        finally:
            future.add_done_callback(lambda _: slots.give("load", taken))
        return len(taken), written

    def _look_at(self, answer: Answer) -> None:
        if not answer.spoiled:
            return
        log.warning("kv-lmcache: chunk %s is not what was stored: it is a miss", answer.spoiled.hex())
        with self._lock:
            self._spoiled.append(answer.spoiled)
            self._stats["spoiled_chunks"] += 1

    def _write(self, job: Job, slots: Slots, chunk: int, slot: int) -> bool:
        load = job.order
        assert isinstance(load, Load)
        begin = chunk * slots.chunk
        start, end = max(load.start, begin), min(load.end, begin + slots.chunk)
        for layer, parts in slots.parts(slot).items():
            rows = [part[start - begin : end - begin] for part in parts]
            with job.lock:
                if job.over or not self.context.pages.write(load.transfer, layer, load.block_ids, start, rows):
                    return False
        return True

    def _let_go(self, load: Load, chunk: int) -> None:
        """What a lookup holds for this rank and was not brought; rank 0 ends the session."""
        ends = self.context.rank == 0
        if ends or chunk < len(load.keys):
            self._link.free(wire.Free(load.session, load.keys, chunk, len(load.keys), whole=False, ends=ends))

    def _save(self, job: Job) -> None:
        save = job.order
        assert isinstance(save, Save)
        missing = len(save.keys) - self._copy(job, time.monotonic() + SAVING)
        with self._lock:
            self._stats["dropped_chunks"] += missing
        self._end(job, 0)

    def _copy(self, job: Job, deadline: float) -> int:
        """Copies chunks of pages into slots, and has them stored; returns the first one that there was no room for."""
        save, slots = job.order, self._slots
        assert isinstance(save, Save)
        first = save.first
        while slots is not None and first < len(save.keys) and self._state.alive:
            taken = slots.take("save", len(save.keys) - first, deadline)
            if not taken:
                break
            if not all(self._read(job, slots, first + index, slot) for index, slot in enumerate(taken)):
                slots.give("save", taken)
                break
            keys = save.keys[: first + len(taken)]
            session = f"{self.context.engine_id}-{self.context.rank}-{next(self._sessions)}"
            put = self._link.call(partial(_put, session, keys, first, taken))
            with self._lock:
                self._puts.add(put)
            put.add_done_callback(partial(self._stored, slots, taken))
            first += len(taken)
        return first

    def _read(self, job: Job, slots: Slots, chunk: int, slot: int) -> bool:
        save = job.order
        for layer, parts in slots.parts(slot).items():
            with job.lock:
                if job.over:
                    return False
                found = self.context.pages.read(layer, save.block_ids, chunk * slots.chunk, (chunk + 1) * slots.chunk)
            for part, values in zip(parts, found, strict=True):
                part.copy_(values)
        return True

    def _stored(self, slots: Slots, taken: list[int], put: Future[Answer]) -> None:
        slots.give("save", taken)
        with self._lock:
            self._puts.discard(put)
            self._stats["saved_tokens"] += put.result().count * slots.chunk
            self._stats["dropped_chunks"] += len(taken) - put.result().count


def _put(session: str, keys: list[bytes], first: int, taken: list[int], number: int) -> wire.Put:
    return wire.Put(number, session, keys, first, taken)


def name_of(context: KVWorkerContext, layout: KVLayout, namespace: str) -> str:
    """What LMCache calls the model: all that the bytes of a chunk are a function of, besides its tokens."""
    parts = (namespace, context.identity, layout.layers, layout.num_kv_heads, layout.parts, context.world_size)
    return "kernelet-" + hashlib.sha256(msgspec.msgpack.encode(parts)).hexdigest()[:32]
