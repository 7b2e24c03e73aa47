"""Adaptive replacement (Megiddo and Modha, FAST 2003) over blocks that may be in use.

Two lists of blocks that can be evicted: those used once, and those used again. What was evicted from each is remembered
for a while by its content; when it comes back, the share of the list it fell from grows. A pool makes room before it
says what for, so the share grows behind the eviction, where the paper has it before.
"""

from __future__ import annotations

from collections import OrderedDict

from kernelet.contracts.cache import EvictionPolicy
from kernelet.contracts.offer import Settings


class ARCPolicy(EvictionPolicy):
    """Balances recency and frequency; blocks in use are in neither list."""

    def __init__(self, settings: Settings, num_blocks: int) -> None:
        super().__init__(settings, num_blocks)
        self._size = num_blocks - 1
        self._target = 0.0
        """Blocks that those used once may be, as the ghosts have it."""
        self._once: OrderedDict[int, None] = OrderedDict()
        self._again: OrderedDict[int, None] = OrderedDict()
        self._ghosts_once: OrderedDict[bytes, None] = OrderedDict()
        self._ghosts_again: OrderedDict[bytes, None] = OrderedDict()
        self._contents: dict[int, bytes] = {}
        self._used: set[int] = set()
        """Blocks whose next ``add`` is not the first use of what they hold."""

    def assign(self, block_id: int, content: bytes) -> None:
        once, again = len(self._ghosts_once), len(self._ghosts_again)
        self._contents[block_id] = content
        self._used.discard(block_id)
        if content in self._ghosts_once:
            del self._ghosts_once[content]
            self._target = min(self._target + max(1.0, again / once), self._size)
            self._used.add(block_id)
        elif content in self._ghosts_again:
            del self._ghosts_again[content]
            self._target = max(self._target - max(1.0, once / again), 0.0)
            self._used.add(block_id)

    def add(self, block_id: int) -> None:
        (self._again if block_id in self._used else self._once)[block_id] = None
        self._used.add(block_id)
        self._forget()

    def remove(self, block_id: int) -> None:
        del (self._once if block_id in self._once else self._again)[block_id]

    def evict(self) -> int:
        if not len(self):
            raise IndexError("no block can be evicted")
        first = bool(self._once) and (len(self._once) > self._target or not self._again)
        held, ghosts = (self._once, self._ghosts_once) if first else (self._again, self._ghosts_again)
        block_id, _ = held.popitem(last=False)
        self._used.discard(block_id)
        content = self._contents.pop(block_id, None)
        if content is not None:
            ghosts[content] = None
        return block_id

    def __len__(self) -> int:
        return len(self._once) + len(self._again)

    def _forget(self) -> None:
        """Ghosts and blocks of the first list are no more than the size, those of all no more than twice."""
        while self._ghosts_once and len(self._once) + len(self._ghosts_once) > self._size:
            self._ghosts_once.popitem(last=False)
        while self._ghosts_again and len(self) + len(self._ghosts_once) + len(self._ghosts_again) > 2 * self._size:
            self._ghosts_again.popitem(last=False)
