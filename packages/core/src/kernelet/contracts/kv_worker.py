"""The side of a KV connector that moves bytes, one a rank. Part of the contract ``kv``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from kernelet.contracts.cache import EvictionPolicy
    from kernelet.contracts.kv_pages import KVIdentity, KVPages
    from kernelet.contracts.offer import Settings


def no_policies(name: str, _size: int) -> EvictionPolicy:
    """Stands for the policies of a context that was made without any."""
    raise LookupError(f"eviction policy {name!r} was asked for, and this context has none: give it `eviction`")


class TransferResults(msgspec.Struct, frozen=True, kw_only=True):
    """What became of transfers on one rank, each told once.

    Attributes:
        received: Loads that are over, with the number of tokens, from ``start`` on, that are valid: all, or fewer, or
            0 where nothing came.
        sent: Handovers that are over: nobody reads their blocks any more.
    """

    received: Mapping[int, int] = {}
    sent: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class KVWorkerContext:
    """What a worker side is made from.

    Attributes:
        identity: Of this engine; equal on all ranks and in its scheduler side.
        role: One of ``ROLES``.
        engine_id: As in ``KVConnectorContext``.
        pages: This rank's.
        rank: This rank.
        world_size: Number of ranks.
        load_timeout: Seconds, the deadline of each load.
        eviction: As in ``KVConnectorContext``.
    """

    identity: KVIdentity
    role: str
    engine_id: str
    pages: KVPages
    rank: int = 0
    world_size: int = 1
    load_timeout: float = 30.0
    eviction: Callable[[str, int], EvictionPolicy] = no_policies


class WorkerSide(ABC):
    """Moves bytes for one rank. A step calls it in the order in which the methods stand here, on one thread.

    Steps without a forward pass call all but the two with a layer.
    """

    def __init__(self, settings: Settings, context: KVWorkerContext) -> None:
        self.settings = settings
        self.context = context

    def get_handshake_metadata(self) -> bytes | None:
        """What others need to reach this rank; once, after it is made."""
        return None

    def cancel(self, transfers: Collection[int]) -> None:
        """The fence: when it returns, nothing of these transfers touches a page any more, nor ever will.

        Called for loads and handovers whose deadline passed, whose request ended or was preempted; it may hold ones
        that are over, or that this rank never heard of.
        """

    @abstractmethod
    def bind_connector_metadata(self, meta: bytes) -> None:
        """Takes what the scheduler side built for this step."""

    @abstractmethod
    def start_load_kv(self) -> None:
        """Begins loads; those of sync tickets must be visible once ``wait_for_layer_load`` returns."""

    def wait_for_layer_load(self, layer: str) -> None:
        """Before a layer's attention reads its pages."""

    def save_kv_layer(self, layer: str) -> None:
        """After a layer has written this step's keys and values."""

    def wait_for_save(self) -> None:
        """After the forward pass: when it returns, nothing reads a page for saving that is not held by a transfer."""

    @abstractmethod
    def get_finished(self) -> TransferResults:
        """What is over since the last call."""

    def build_connector_worker_meta(self) -> bytes:
        """For ``SchedulerSide.update_connector_output``; empty: nothing."""
        return b""

    def get_kv_connector_stats(self) -> Mapping[str, float]:
        """Counters of this rank since the last call, by name; the core adds those of ranks and steps up."""
        return {}

    def shutdown(self) -> None:
        """Ends; waits for what is being saved."""
