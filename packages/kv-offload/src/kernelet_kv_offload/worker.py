"""The side that moves bytes: pages to memory within the step, everything else on two threads beside it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Collection, Mapping
from functools import partial

import msgspec
from torch import Tensor

from kernelet.contracts.kv import KVWorkerContext, TransferResults, WorkerSide
from kernelet.contracts.offer import Settings
from kernelet_kv_offload.chunks import Chunks
from kernelet_kv_offload.disk import Disk, open_disk
from kernelet_kv_offload.lane import Lane
from kernelet_kv_offload.messages import Load, Loaded, Meta, Report, Save, Source, decode_meta, encode
from kernelet_kv_offload.options import Options


class OffloadWorker(WorkerSide):
    """Memory of one rank, by slot, and its disk.

    Attributes:
        refresh_seconds: How often it looks, while there are steps, what other engines did to the folder.
    """

    refresh_seconds = 1.0

    def __init__(self, settings: Settings, context: KVWorkerContext) -> None:
        super().__init__(settings, context)
        self._options = Options.of(settings, context.pages.layouts)
        self._chunks = Chunks(context.pages, self._options.chunk_tokens)
        self._disk = open_disk(self._options, context, self._chunks.num_bytes)
        self._slots: dict[int, Tensor] = {}
        self._meta = Meta()
        self._last_generation = 0
        self._refreshed = time.monotonic()
        self._loader = Lane("kv-offload-load")
        self._writer = Lane("kv-offload-write")
        self._lock = threading.Lock()
        """Guards all below."""
        self._open: dict[int, bool] = {}
        """Loads that are not over, and whether they were cancelled."""
        self._waiting = 0
        self._evictions = 0
        self._generation = 0
        self._received: dict[int, int] = {}
        self._saved: list[int] = []
        self._released: list[int] = []
        self._loaded: list[Loaded] = []
        self._found: list[bytes] = []
        self._lost: list[bytes] = []
        self._counts: Counter[str] = Counter()

    def get_handshake_metadata(self) -> bytes | None:
        return None if self._disk is None else msgspec.msgpack.encode(self._disk.keys())

    def cancel(self, transfers: Collection[int]) -> None:
        """The core lets a cancelled transfer write no more; this only spares the rest of the work."""
        with self._lock:
            self._open.update((transfer, True) for transfer in transfers if transfer in self._open)

    def bind_connector_metadata(self, meta: bytes) -> None:
        self._check()
        self._meta = decode_meta(meta) if meta else Meta(self._meta.generation)
        if self._meta.generation != self._last_generation:
            self._last_generation = self._meta.generation
            self._writer.submit(partial(self._forget, self._meta.generation))
        elif self._disk is not None and time.monotonic() - self._refreshed > self.refresh_seconds:
            self._refreshed = time.monotonic()
            self._writer.submit(partial(self._refresh, self._disk))

    def start_load_kv(self) -> None:
        with self._lock:
            self._open.update((load.transfer, False) for load in self._meta.loads)
        for load in self._meta.loads:
            self._loader.submit(partial(self._load, load))

    def wait_for_save(self) -> None:
        for save in self._meta.saves:
            chunk = self._slot(save.slot)
            self._chunks.read(chunk, save.start, save.blocks)
            with self._lock:
                self._saved.append(save.slot)
                self._counts["saved_bytes"] += chunk.nbytes
            self._write_later(save, chunk)

    def get_finished(self) -> TransferResults:
        self._check()
        with self._lock:
            received, self._received = self._received, {}
        return TransferResults(received=received)

    def build_connector_worker_meta(self) -> bytes:
        with self._lock:
            if not (self._saved or self._released or self._loaded or self._found or self._lost):
                return b""
            report = Report(
                self._generation,
                tuple(self._saved),
                tuple(self._released),
                tuple(self._loaded),
                tuple(self._found),
                tuple(self._lost),
            )
            for told in (self._saved, self._released, self._loaded, self._found, self._lost):
                told.clear()
        return encode(report)

    def get_kv_connector_stats(self) -> Mapping[str, float]:
        with self._lock:
            counts, self._counts = self._counts, Counter()
        if self.context.rank == 0:
            counts.update(self._meta.counts)
        return counts

    def shutdown(self) -> None:
        self._loader.close(drop=True)
        self._writer.close()
        if self._disk is not None:
            self._disk.close()
            self._disk = None

    def _slot(self, number: int) -> Tensor:
        if number not in self._slots:
            self._slots[number] = self._chunks.make()
        return self._slots[number]

    def _write_later(self, save: Save, chunk: Tensor) -> None:
        """Puts a chunk into the queue of the disk, if there is one with room."""
        with self._lock:
            full = self._waiting >= self._options.write_queue
            if self._disk is None or full:
                self._released.append(save.slot)
                self._counts["skipped_writes"] += self._disk is not None
                return
            self._waiting += 1
        self._writer.submit(partial(self._write, self._disk, save, chunk))

    def _check(self) -> None:
        """What failed on a thread fails the step."""
        self._loader.check()
        self._writer.check()

    # --- on the writer's thread ---------------------------------------------------------------

    def _write(self, disk: Disk, save: Save, chunk: Tensor) -> None:
        written = disk.write(save.key, chunk.numpy().data)
        with self._lock:
            self._waiting -= 1
            self._released.append(save.slot)
            self._note(written.came, written.gone)
            self._counts["disk_evictions"] += disk.evictions - self._evictions
            self._evictions = disk.evictions
            self._counts["written_bytes"] += written.num_bytes
            self._counts["skipped_writes"] += written.failed

    def _refresh(self, disk: Disk) -> None:
        came, gone = disk.refresh()
        with self._lock:
            self._note(came, gone)

    def _forget(self, generation: int) -> None:
        """What was written before goes; from now on reports are of the new generation."""
        if self._disk is not None:
            self._disk.clear()
        with self._lock:
            self._generation = generation
            self._found.clear()
            self._lost.clear()

    def _note(self, came: Collection[bytes], gone: Collection[bytes]) -> None:
        """What came and went, in order: a report says first what was found, then what was lost."""
        self._lost = [key for key in self._lost if key not in set(came)] + list(gone)
        self._found = [key for key in self._found if key not in set(gone)] + list(came)

    # --- on the loader's thread ---------------------------------------------------------------

    def _load(self, load: Load) -> None:
        tokens = self._chunks.tokens
        at = load.start // tokens * tokens
        valid = load.start
        filled: list[int] = []
        lost: list[bytes] = []
        for source in load.chunks:
            chunk = None if self._open[load.transfer] else self._fetch(source, filled, lost)
            if chunk is None:
                break
            if not self._chunks.write(load.transfer, chunk, at, load.start, load.end, load.blocks):
                break
            at += tokens
            valid = min(at, load.end)
        if not self._chunks.suffices(valid, load.blocks):
            valid = load.start
        with self._lock:
            self._received[load.transfer] = valid - load.start
            self._loaded.append(Loaded(load.transfer, tuple(filled)))
            self._note((), lost)
            del self._open[load.transfer]

    def _fetch(self, source: Source, filled: list[int], lost: list[bytes]) -> Tensor | None:
        """A chunk in memory; None: it is not what it was."""
        if source.filled:
            if self._disk is not None:
                self._disk.touch(source.key)
            return self._slots[source.slot]
        assert self._disk is not None, "a chunk is on a disk that there is not"
        chunk = self._slot(source.slot) if source.slot else self._chunks.make()
        if not self._disk.read(source.key, chunk.numpy().data):
            lost.append(source.key)
            return None
        if source.slot:
            filled.append(source.slot)
        with self._lock:
            self._counts["read_bytes"] += chunk.nbytes
        return chunk
