"""Both sides of a connector, made as an engine makes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelet.cache.eviction import LRUPolicy
from kernelet.contracts.cache import EvictionPolicy
from kernelet.contracts.kv import (
    KVConnectorContext,
    KVConnectorOffer,
    KVIdentity,
    KVPages,
    KVWorkerContext,
    SchedulerSide,
    WorkerSide,
)
from kernelet.contracts.offer import Settings
from kernelet.kernel.imports import import_string
from kernelet.testing.offered import Offered
from kernelet.testing.verdict import check


def make_sides(
    offered: Offered[KVConnectorOffer],
    pages: Sequence[KVPages],
    *,
    identity: KVIdentity,
    role: str,
    engine_id: str,
    load_timeout: float,
) -> tuple[SchedulerSide, list[WorkerSide]]:
    """The scheduler side, and a worker side for each rank's pages, which comes first."""
    worker = import_string(offered.offer.worker)
    _check(WorkerSide, worker)
    _check(SchedulerSide, offered.target)
    workers: list[WorkerSide] = [
        worker(
            offered.settings,
            KVWorkerContext(
                identity=identity,
                role=role,
                engine_id=engine_id,
                pages=one,
                rank=rank,
                world_size=len(pages),
                load_timeout=load_timeout,
                eviction=lru,
            ),
        )
        for rank, one in enumerate(pages)
    ]
    context = KVConnectorContext(
        identity=identity,
        role=role,
        engine_id=engine_id,
        layouts=tuple(one.layouts for one in pages),
        load_timeout=load_timeout,
        max_model_len=4096,
        handshakes=tuple(one.get_handshake_metadata() for one in workers),
        eviction=lru,
    )
    return offered.target(offered.settings, context), workers


def lru(name: str, size: int) -> EvictionPolicy:
    """Whatever policy is asked for, this one is there."""
    del name
    return LRUPolicy(Settings(plugin="core"), size)


def _check(kind: type[Any], target: Any) -> None:
    check(isinstance(target, type) and issubclass(target, kind), f"{target!r} is no {kind.__name__}")
