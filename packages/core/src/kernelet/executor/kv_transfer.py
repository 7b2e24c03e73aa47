"""How an executor asks a worker for its side of KV connectors."""

from __future__ import annotations

from kernelet.contracts.executor import TransfersKV, Worker
from kernelet.contracts.kv_start import KVStart, KVStarted
from kernelet.errors import PluginError


def begin_kv_transfer(worker: Worker, start: KVStart) -> KVStarted:
    """Makes one rank's side of the connectors.

    Raises:
        PluginError: the worker runs none.
    """
    if not isinstance(worker, TransfersKV):
        raise PluginError(
            f"{type(worker).__name__} runs no KV connectors: leave --kv-connector out, or use another --platform"
        )
    return worker.start_kv_transfer(start)
