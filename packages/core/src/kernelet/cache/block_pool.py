"""The blocks of one group: free, cached, or in use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernelet.cache.keys import BlockKey
from kernelet.cache.prefix_index import PrefixIndex
from kernelet.contracts.cache import NULL_BLOCK, EvictionPolicy


class BlockPool:
    """Hands out block ids 1 to ``num_blocks - 1`` and counts references to them.

    A block is in use (it has references), or cached (it has none, the prefix index and the eviction policy hold it), or
    free. Cached blocks are handed out when no free one is left; they leave the index first.
    """

    def __init__(self, num_blocks: int, policy: EvictionPolicy, index: PrefixIndex | None = None) -> None:
        """Takes over an empty policy and an empty index.

        Args:
            num_blocks: The null block included.
            policy: Decides which cached block is handed out.
            index: The prefixes that blocks hold.
        """
        if num_blocks < 2:
            raise ValueError(f"a pool needs the null block and one more, not {num_blocks}")
        self.num_blocks = num_blocks
        self.index = PrefixIndex() if index is None else index
        self._policy = policy
        self._free = list(range(num_blocks - 1, NULL_BLOCK, -1))
        self._references = [0] * num_blocks

    @property
    def num_free(self) -> int:
        """Blocks that ``allocate`` could hand out, cached ones included."""
        return len(self._free) + len(self._policy)

    @property
    def usage(self) -> float:
        """Share of the blocks in use, 0 to 1."""
        return 1 - self.num_free / (self.num_blocks - 1)

    def references(self, block_id: int) -> int:
        """Number of references to a block."""
        return self._references[block_id]

    def allocate(self, count: int) -> list[int]:
        """Hands out blocks with one reference each and no prefix.

        Raises:
            IndexError: fewer are left; nothing is handed out.
        """
        if count > self.num_free:
            raise IndexError(f"{count} blocks asked for, {self.num_free} of {self.num_blocks - 1} left")
        return [self._take_one() for _ in range(count)]

    def touch(self, block_ids: Iterable[int]) -> None:
        """Adds a reference to cached or used blocks; the null block is skipped.

        Raises:
            ValueError: a block is free, so it holds nothing worth a reference.
        """
        for block_id in block_ids:
            if block_id == NULL_BLOCK:
                continue
            if self._references[block_id] == 0:
                if not self.index.holds(block_id):
                    raise ValueError(f"block {block_id} is free")
                self._policy.remove(block_id)
            self._references[block_id] += 1

    def release(self, block_ids: Sequence[int]) -> None:
        """Takes a reference from each block of a list, the last first: a prefix's tail is evicted before its head.

        Raises:
            ValueError: a block is not in use.
        """
        for block_id in reversed(block_ids):
            if block_id == NULL_BLOCK:
                continue
            if self._references[block_id] == 0:
                raise ValueError(f"block {block_id} is not in use")
            self._references[block_id] -= 1
            if self._references[block_id] == 0:
                if self.index.holds(block_id):
                    self._policy.add(block_id)
                else:
                    self._free.append(block_id)

    def store(self, key: BlockKey, block_id: int) -> bool:
        """Enters a used block in the prefix index; False: that prefix is there already.

        Raises:
            ValueError: the block is not in use, or holds another prefix.
        """
        if self._references[block_id] == 0:
            raise ValueError(f"block {block_id} is not in use")
        stored = self.index.store(key, block_id)
        if stored:
            self._policy.assign(block_id, key)
        return stored

    def clear_prefixes(self) -> None:
        """Forgets every prefix; cached blocks become free."""
        for block_id in self.index.clear():
            if self._references[block_id] == 0:
                self._policy.remove(block_id)
                self._free.append(block_id)

    def check(self) -> None:
        """Verifies that every block is in exactly one state.

        Raises:
            AssertionError: naming what is wrong.
        """
        free = set(self._free)
        assert len(free) == len(self._free), "a block is free twice"
        assert NULL_BLOCK not in free, "the null block is free"
        assert self._references[NULL_BLOCK] == 0, "the null block has references"
        assert min(self._references) >= 0, "negative references"
        unused = {block for block in range(1, self.num_blocks) if self._references[block] == 0}
        cached = {block for block in self.index.block_ids() if self._references[block] == 0}
        assert free | cached == unused, f"blocks lost: {unused - free - cached}, or free while in use: {free - unused}"
        assert not free & cached, f"free blocks hold prefixes: {free & cached}"
        assert len(self._policy) == len(cached), f"{len(self._policy)} blocks can be evicted, {len(cached)} are cached"

    def _take_one(self) -> int:
        if self._free:
            block_id = self._free.pop()
        else:
            block_id = self._policy.evict()
            self.index.remove(block_id)
        assert self._references[block_id] == 0, f"block {block_id} was given up while in use"
        self._references[block_id] = 1
        return block_id
