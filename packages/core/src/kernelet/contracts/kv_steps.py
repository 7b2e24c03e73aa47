"""What a step carries of KV connectors, in ``StepPlan.extensions`` and ``StepResult.extensions``.

The core writes and reads these; the key is the name of the connector's offer. Part of the contract ``kv``.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from kernelet.contracts.kv_worker import TransferResults

_ENCODER = msgspec.msgpack.Encoder()


class KVPlan(msgspec.Struct, frozen=True, kw_only=True):
    """To every rank, with each step.

    Attributes:
        meta: What ``SchedulerSide.build_connector_meta`` built.
        cancel: Transfers that are over before they were confirmed, for ``WorkerSide.cancel``.
        loads: Loads that were settled since the plan before: from this step on their blocks may be written.
        sync_loads: Of these, those that are to be done when this step's layers read them: those of sync tickets.
        off: The connector is switched off: its side ends here too, and is not called any more. Since kv 1.1.
    """

    meta: bytes = b""
    cancel: tuple[int, ...] = ()
    loads: tuple[int, ...] = ()
    sync_loads: tuple[int, ...] = ()
    off: bool = False


class KVReport(msgspec.Struct, frozen=True, kw_only=True):
    """From each rank, with each step.

    Attributes:
        results: What ``WorkerSide.get_finished`` told.
        meta: What ``WorkerSide.build_connector_worker_meta`` built.
        stats: What ``WorkerSide.get_kv_connector_stats`` counted.
        failed: Which method of the side raised what, after which it is not called any more; empty: none did. Since
            kv 1.1, as ``trace``.
        trace: The traceback.
    """

    results: TransferResults = TransferResults()
    meta: bytes = b""
    stats: dict[str, float] = {}
    failed: str = ""
    trace: str = ""


MessageT = TypeVar("MessageT", KVPlan, KVReport)


def encode(message: KVPlan | KVReport) -> bytes:
    """As it travels in ``extensions``."""
    return _ENCODER.encode(message)


def decode(data: bytes, kind: type[MessageT]) -> MessageT:
    """What ``encode`` made.

    Raises:
        msgspec.DecodeError: the bytes are no such message.
    """
    return msgspec.msgpack.decode(data, type=kind)
