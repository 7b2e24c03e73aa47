from __future__ import annotations

import inspect

from kernelet.contracts.kv_pages import KVIdentity
from kernelet.contracts.kv_worker import KVWorkerContext, TransferResults, WorkerSide
from kernelet.contracts.offer import Settings

IDENTITY = KVIdentity(weights="w", dtype="bfloat16", kv_cache_dtype="auto", arithmetic="a")


class Least(WorkerSide):
    def bind_connector_metadata(self, meta): ...

    def start_load_kv(self): ...

    def get_finished(self):
        return TransferResults()


def test_the_least_worker_tells_nothing():
    side = Least(Settings(plugin="p"), KVWorkerContext(identity=IDENTITY, role="both", engine_id="e", pages=None))
    side.cancel({1})
    assert side.get_handshake_metadata() is None
    assert side.build_connector_worker_meta() == b""
    assert side.get_kv_connector_stats() == {}
    assert (side.get_finished().received, side.get_finished().sent) == ({}, frozenset())


def test_a_step_calls_the_methods_in_the_order_in_which_they_stand():
    order = [name for name, one in vars(WorkerSide).items() if inspect.isfunction(one) and not name.startswith("_")]
    assert order == [
        "get_handshake_metadata",
        "cancel",
        "bind_connector_metadata",
        "start_load_kv",
        "wait_for_layer_load",
        "save_kv_layer",
        "wait_for_save",
        "get_finished",
        "build_connector_worker_meta",
        "get_kv_connector_stats",
        "shutdown",
    ]
