"""Which cached block is given up first."""

from __future__ import annotations

from kernelet.contracts.cache import EvictionPolicy
from kernelet.contracts.offer import Settings


class LRUPolicy(EvictionPolicy):
    """Least recently released first. A pool releases a prefix's tail before its head, so the tail goes first."""

    def __init__(self, settings: Settings, num_blocks: int) -> None:
        super().__init__(settings, num_blocks)
        self._order: dict[int, None] = {}

    def add(self, block_id: int) -> None:
        self._order[block_id] = None

    def remove(self, block_id: int) -> None:
        del self._order[block_id]

    def evict(self) -> int:
        if not self._order:
            raise IndexError("no block can be evicted")
        block_id = next(iter(self._order))
        del self._order[block_id]
        return block_id

    def __len__(self) -> int:
        return len(self._order)


def lru(num_blocks: int) -> EvictionPolicy:
    """The core's policy, for a pool that no plugin's was chosen for."""
    return LRUPolicy(Settings(plugin="core"), num_blocks)
