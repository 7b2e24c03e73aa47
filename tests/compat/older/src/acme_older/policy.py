from __future__ import annotations

import logging

from kernelet.contracts.cache import EvictionPolicy

logger = logging.getLogger(__name__)


class NewestFirst(EvictionPolicy):
    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, None] = {}

    def add(self, block_id: int) -> None:
        self._blocks[block_id] = None

    def remove(self, block_id: int) -> None:
        del self._blocks[block_id]

    def evict(self) -> int:
        if not self._blocks:
            raise IndexError("no block can be evicted")
        block_id = self._blocks.popitem()[0]
        logger.info("gave up block %d", block_id)
        return block_id

    def __len__(self) -> int:
        return len(self._blocks)
