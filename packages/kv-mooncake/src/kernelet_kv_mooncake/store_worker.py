"""Moves chunks between one rank's pages and the store."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Mapping
from functools import partial

import msgspec
import torch
from torch import Tensor

from kernelet.contracts.kv import KVWorkerContext, TransferResults, WorkerSide
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_kv_mooncake.store import MIB, Store
from kernelet_kv_mooncake.store_orders import Chunk, Fetch, Lookup, Orders, Report, Save
from kernelet_kv_transfer.counts import Counts
from kernelet_kv_transfer.messages import layout_digest
from kernelet_kv_transfer.packing import bytes_for, first_end, pack, unpack
from kernelet_kv_transfer.tasks import Tasks

logger = logging.getLogger(__name__)

LOADERS = 2
SHUTDOWN_SECONDS = 30.0
"""What an end waits for what is being stored."""


class StoreWorker(WorkerSide):
    """Pages are copied in the step that writes them; all that asks the store runs on threads."""

    def __init__(self, settings: Settings, context: KVWorkerContext) -> None:
        super().__init__(settings, context)
        pending = settings["pending_mib"]
        if not isinstance(pending, int) or pending < 1:
            raise ConfigError(f"kv-mooncake.pending_mib must be 1 or more MiB, not {pending!r}")
        self._most = pending * MIB
        self._pages = context.pages
        self._prefix = f"kernelet-{layout_digest(context.pages.layouts).hex()[:32]}-"
        self._store = Store(settings)
        size = bytes_for(context.pages.layouts, int(settings["chunk"] or 0))
        if size > self._store.most:
            self._store.close()
            raise ConfigError(
                f"kv-mooncake.local_mib must hold the {size / MIB:.1f} MiB of a chunk on this rank "
                f"(kv-mooncake.chunk), not {settings['local_mib']}"
            )
        self._lookups = Tasks("kv-store-lookup", 1)
        self._loads = Tasks("kv-store-load", LOADERS)
        self._saves = Tasks("kv-store-save", 1)
        self._orders = Orders()
        self._lock = threading.Lock()
        self._found: dict[int, int] = {}
        self._unsaved: list[bytes] = []
        self._pending = 0
        self._open: dict[int, threading.Lock] = {}
        self._received: dict[int, int] = {}
        self._counts = Counts()

    def cancel(self, transfers: Collection[int]) -> None:
        for transfer in transfers:
            with self._lock:
                writing = self._open.pop(transfer, None)
                self._received.pop(transfer, None)
            if writing is not None:
                with writing:
                    pass  # whoever writes has ended, and looks again before the next chunk

    def bind_connector_metadata(self, meta: bytes) -> None:
        self._orders = msgspec.msgpack.decode(meta, type=Orders) if meta else Orders()

    def start_load_kv(self) -> None:
        for lookup in self._orders.lookups:
            self._lookups.put(partial(self._look, lookup))
        for fetch in self._orders.fetches:
            with self._lock:
                self._open[fetch.transfer] = threading.Lock()
            self._loads.put(partial(self._fetch, fetch, time.monotonic() + self.context.load_timeout))

    def wait_for_save(self) -> None:
        for save in self._orders.saves:
            self._save(save)

    def get_finished(self) -> TransferResults:
        with self._lock:
            received, self._received = self._received, {}
        return TransferResults(received=received)

    def build_connector_worker_meta(self) -> bytes:
        with self._lock:
            found, self._found = self._found, {}
            unsaved, self._unsaved = tuple(self._unsaved), []
        return msgspec.msgpack.encode(Report(found=found, unsaved=unsaved)) if found or unsaved else b""

    def get_kv_connector_stats(self) -> Mapping[str, float]:
        return self._counts.take()

    def shutdown(self) -> None:
        with self._lock:
            transfers = list(self._open)
        self.cancel(transfers)
        ended = [tasks.close(SHUTDOWN_SECONDS) for tasks in (self._saves, self._loads, self._lookups)]
        if all(ended):
            self._store.close()

    # --- on threads ------------------------------------------------------------------------------

    def _look(self, lookup: Lookup) -> None:
        found = None
        try:
            found = self._store.count([self._name(key) for key in lookup.keys])
        except Exception:
            logger.exception("Mooncake's store does not answer")
        if found is None:
            self._counts.add("lookup_failures")
        with self._lock:
            self._found[lookup.number] = found or 0

    def _fetch(self, fetch: Fetch, until: float) -> None:
        valid = fetch.start
        try:
            least = first_end(self._pages.layouts, fetch.block_ids)
            for chunk in fetch.chunks:
                data = self._get(chunk) if time.monotonic() < until else None
                if data is None or not self._write(fetch, chunk, data):
                    break
                end = min(chunk.end, fetch.end)
                valid = end if end >= least else valid
        except Exception:
            logger.exception("load %d failed", fetch.transfer)
        with self._lock:
            if self._open.pop(fetch.transfer, None) is None:
                return
            self._counts.add("loads" if valid == fetch.end else "load_failures")
            self._received[fetch.transfer] = valid - fetch.start

    def _get(self, chunk: Chunk) -> Tensor | None:
        size = bytes_for(self._pages.layouts, chunk.end - chunk.start)
        data = self._store.get(self._name(chunk.key), size)
        if data is None:
            return None
        self._counts.add("bytes_loaded", size)
        return torch.frombuffer(data, dtype=torch.uint8)

    def _write(self, fetch: Fetch, chunk: Chunk, data: Tensor) -> bool:
        """What of a chunk lies in the load; False: it was cancelled."""
        with self._lock:
            writing = self._open.get(fetch.transfer)
        if writing is None:
            return False
        with writing:
            with self._lock:
                if fetch.transfer not in self._open:
                    return False
            inside = max(chunk.start, fetch.start), min(chunk.end, fetch.end)
            return unpack(self._pages, fetch.transfer, fetch.block_ids, chunk.start, chunk.end, data, inside=inside)

    def _save(self, save: Save) -> None:
        """Copies a chunk's pages; what waits already may be too much for one more."""
        chunk = save.chunk
        size = bytes_for(self._pages.layouts, chunk.end - chunk.start)
        with self._lock:
            if self._store.lost or (self._pending and self._pending + size > self._most):
                self._unsaved.append(chunk.key)
                self._counts.add("saves_left_out")
                return
            self._pending += size
        data = bytearray(size)
        pack(self._pages, save.block_ids, chunk.start, chunk.end, torch.frombuffer(data, dtype=torch.uint8))
        self._saves.put(partial(self._put, chunk.key, data))

    def _put(self, key: bytes, data: bytearray) -> None:
        stored = False
        try:
            stored = self._store.put(self._name(key), data)
        except Exception:
            logger.exception("Mooncake's store does not answer")
        with self._lock:
            self._pending -= len(data)
            if not stored:
                self._unsaved.append(key)
        self._counts.add("saves" if stored else "save_failures")

    def _name(self, key: bytes) -> str:
        return self._prefix + key.hex()
