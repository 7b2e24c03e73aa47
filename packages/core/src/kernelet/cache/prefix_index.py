"""Which block of a group holds which prefix."""

from __future__ import annotations

from kernelet.cache.events import BlockRemoved, EventLog
from kernelet.cache.keys import BlockKey


class PrefixIndex:
    """One group's map of block keys to block ids and back; a key has one block and a block one key."""

    def __init__(self, group: int = 0, log: EventLog | None = None) -> None:
        self._group = group
        self._log = EventLog(enabled=False) if log is None else log
        self._blocks: dict[BlockKey, int] = {}
        self._keys: dict[int, BlockKey] = {}

    def get(self, key: BlockKey) -> int | None:
        """The block that holds a prefix."""
        return self._blocks.get(key)

    def holds(self, block_id: int) -> bool:
        """Whether a block holds a prefix."""
        return block_id in self._keys

    def store(self, key: BlockKey, block_id: int) -> bool:
        """Enters a block; False: another block has this content already, or this one is entered.

        Raises:
            ValueError: the block is entered under another key, so its content would have changed.
        """
        if key in self._blocks:
            return False
        if block_id in self._keys:
            raise ValueError(f"block {block_id} of group {self._group} already holds another prefix")
        self._blocks[key] = block_id
        self._keys[block_id] = key
        return True

    def remove(self, block_id: int) -> None:
        """Forgets a block.

        Raises:
            KeyError: if it holds no prefix.
        """
        key = self._keys.pop(block_id)
        del self._blocks[key]
        if self._log.enabled:
            self._log.add(BlockRemoved(group=self._group, key=key))

    def clear(self) -> list[int]:
        """Forgets every block and returns them; the log is not told of each."""
        block_ids = list(self._keys)
        self._keys.clear()
        self._blocks.clear()
        return block_ids

    def block_ids(self) -> list[int]:
        """All blocks that hold a prefix."""
        return list(self._keys)

    def __len__(self) -> int:
        return len(self._blocks)
