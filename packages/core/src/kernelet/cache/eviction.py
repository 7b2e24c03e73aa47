"""Which cached block is given up first."""

from __future__ import annotations

from kernelet.contracts.cache import EvictionPolicy


class LRUPolicy(EvictionPolicy):
    """Least recently released first. A pool releases a prefix's tail before its head, so the tail goes first."""

    def __init__(self) -> None:
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
