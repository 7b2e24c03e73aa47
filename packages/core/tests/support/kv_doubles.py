"""A connector without a scheduler side, that saves what steps tell it to and loads it again, for tests of workers."""

from __future__ import annotations

import msgspec
import torch
from worker_doubles import BLOCK, PlainAttention

from kernelet.contracts.kv import KVConnectorOffer, KVIdentity, TransferResults, WorkerSide
from kernelet.contracts.kv_start import KVStart
from kernelet.contracts.kv_steps import KVPlan, KVReport, decode, encode

SHELF = KVConnectorOffer(name="shelf", target="scheduler", worker="shelf")
OTHER = KVConnectorOffer(name="other", target="scheduler", worker="other")
START = KVStart(
    identity=KVIdentity(weights="w", dtype="float64", kv_cache_dtype="auto", arithmetic="a"), engine_id="engine"
)


class PagesAttention(PlainAttention):
    """Gives its pages away, one token at a time."""

    def export_pages(self, cache, block_ids, start, end):
        rows = [cache[block_ids[p // BLOCK], p % BLOCK] for p in range(start, end)]
        held = torch.stack(rows) if rows else cache[:0, 0]
        return held[:, 0], held[:, 1]

    def import_pages(self, cache, block_ids, start, parts):
        for p, key, value in zip(range(start, start + len(parts[0])), *parts, strict=True):
            cache[block_ids[p // BLOCK], p % BLOCK] = torch.stack([key, value])


class Meta(msgspec.Struct, kw_only=True):
    """What a step does: tokens [0, end) of one request.

    Attributes:
        save: Name under which its pages are kept; empty: not.
        load: Name of what is loaded; empty: nothing.
        transfer: Number of the load.
        start: Where the load begins.
        end: Where what is saved or loaded ends.
        blocks: Of the request, by group.
        late: Nothing is loaded before ``Shelf.finish``.
    """

    save: str = ""
    load: str = ""
    transfer: int = 0
    start: int = 0
    end: int = 0
    blocks: list[list[int]] = []
    late: bool = False


def plan_of(meta=None, **values):
    """What a step's extensions hold."""
    return encode(KVPlan(meta=b"" if meta is None else msgspec.msgpack.encode(meta), **values))


def report_of(result, name="shelf", rank=0):
    return decode(result.extensions[name][rank], KVReport)


class Shelf(WorkerSide):
    """Each instance notes its calls; all share what is kept.

    Attributes:
        kept: Parts of each layer, by name.
        calls: Names of methods, with the layer where there is one.
        told: What ``get_finished`` says next.
    """

    kept: dict[str, dict[str, tuple[torch.Tensor, ...]]]

    def __init__(self, settings, context):
        super().__init__(settings, context)
        self.calls, self.told, self.written = [], TransferResults(), []
        self.meta = Meta()

    def get_handshake_metadata(self):
        return f"{self.context.engine_id}/{self.context.rank}".encode()

    def cancel(self, transfers):
        self.calls.append(("cancel", tuple(transfers)))

    def bind_connector_metadata(self, meta):
        self.calls.append("bind")
        self.meta = msgspec.msgpack.decode(meta, type=Meta) if meta else Meta()

    def start_load_kv(self):
        self.calls.append("start")
        self.written = []

    def wait_for_layer_load(self, layer):
        self.calls.append(("wait", layer))
        if self.meta.load and not self.meta.late:
            self.load(self.meta, layer)

    def load(self, meta, layer):
        blocks = meta.blocks[self.group(layer)]
        parts = [part[meta.start : meta.end] for part in self.kept[meta.load][layer]]
        self.written.append(self.context.pages.write(meta.transfer, layer, blocks, meta.start, parts))

    def finish(self, meta):
        """A late load comes."""
        self.written = []
        for layer in (name for layout in self.context.pages.layouts for name in layout.layers):
            self.load(meta, layer)
        self.told = TransferResults(received={meta.transfer: meta.end - meta.start if all(self.written) else 0})

    def save_kv_layer(self, layer):
        self.calls.append(("save", layer))
        if self.meta.save:
            blocks = self.meta.blocks[self.group(layer)]
            found = self.context.pages.read(layer, blocks, 0, self.meta.end)
            self.kept.setdefault(self.meta.save, {})[layer] = found

    def group(self, layer):
        return next(layout.group for layout in self.context.pages.layouts if layer in layout.layers)

    def wait_for_save(self):
        self.calls.append("wait_for_save")

    def get_finished(self):
        self.calls.append("get_finished")
        if self.meta.load and not self.meta.late:
            self.told = TransferResults(received={self.meta.transfer: self.meta.end - self.meta.start})
        told, self.told = self.told, TransferResults()
        return told

    def build_connector_worker_meta(self):
        return b"meta"

    def get_kv_connector_stats(self):
        return {"writes": float(len(self.written))}

    def shutdown(self):
        self.calls.append("shutdown")
