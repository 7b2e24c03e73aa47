"""Wrong eviction policies."""

from __future__ import annotations

import heapq
from typing import Any

import pytest

from kernelet.cache.eviction import LRUPolicy
from kernelet.contracts.cache import CachePolicyOffer, EvictionPolicy
from kernelet.contracts.offer import Settings
from kernelet.testing.cache_policy.suite import CachePolicyCapabilities, CachePolicySuite
from kernelet.testing.faults import Fault
from kernelet.testing.offered import Offered


def suite_of(policy: type[Any]) -> type[CachePolicySuite]:
    """The suite as the author of that policy writes it."""

    class Faulty(CachePolicySuite):
        capabilities = CachePolicyCapabilities(least_recent_first=True)

        @pytest.fixture
        def offered(self) -> Offered[CachePolicyOffer]:
            offer = CachePolicyOffer(name="faulty", target=f"{policy.__module__}:{policy.__qualname__}", api="2.0")
            return Offered(offer=offer, settings=Settings(plugin="faulty"), target=policy)

    return Faulty


class NotAPolicy:
    def __init__(self, *_: object) -> None:
        """Takes anything."""


class Twice(LRUPolicy):
    def evict(self) -> int:
        if not self._order:
            raise IndexError
        return next(iter(self._order))


class Forgets(LRUPolicy):
    def remove(self, block_id: int) -> None:
        self._order.pop(block_id, None)


class Silent(LRUPolicy):
    def evict(self) -> int:
        return super().evict() if self._order else 0


class Shared(LRUPolicy):
    order: dict[int, None] = {0: None}  # noqa: RUF012 - the fault

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._order = self.order
        self._order.pop(0, None)


class Newest(LRUPolicy):
    def evict(self) -> int:
        if not self._order:
            raise IndexError
        return self._order.popitem()[0]


class KeepsRemoved(LRUPolicy):
    def remove(self, block_id: int) -> None:
        if block_id not in self._order:
            raise KeyError(block_id)


class NeverCompacted(LRUPolicy):
    """A heap in which removed blocks stay until they come to its top."""

    def __init__(self, settings: Settings, num_blocks: int) -> None:
        super().__init__(settings, num_blocks)
        self._heap: list[tuple[int, int]] = []
        self._ticks = 0

    def add(self, block_id: int) -> None:
        super().add(block_id)
        self._ticks += 1
        heapq.heappush(self._heap, (self._ticks, block_id))


_PLANTED: tuple[tuple[str, type[EvictionPolicy | NotAPolicy], str], ...] = (
    ("is-no-policy", NotAPolicy, "is no EvictionPolicy"),
    ("evicts-twice", Twice, "evict() must give up each added block exactly once"),
    ("evicts-from-nothing", Silent, "evict() of an empty policy must raise IndexError"),
    ("removes-what-it-never-held", Forgets, "remove() of a block that is not held must raise KeyError"),
    ("shares-its-blocks-between-pools", Shared, "a policy must keep its blocks to itself"),
    ("evicts-the-newest-against-its-promise", Newest, "evict() must give up what was added first"),
    ("never-compacts-its-heap", NeverCompacted, "a policy's memory must be bounded by its blocks"),
    ("keeps-removed-blocks", KeepsRemoved, "len() must be the number of blocks that can be evicted"),
)

FAULTS = tuple(Fault(name=name, suite=suite_of(policy), says=says) for name, policy, says in _PLANTED)
