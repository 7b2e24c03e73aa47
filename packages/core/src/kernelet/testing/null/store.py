"""A cache that keeps, instead of keys and values, what they would have been computed from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelet.contracts.cache import NULL_BLOCK, CacheGroup, SlidingWindowSpec
from kernelet.errors import KerneletError


class PlanError(KerneletError):
    """A step is wrong: it would make a real worker compute something else than was asked for."""


class GroupStore:
    """One group's slots. A slot holds the digest of its token and of all tokens before it.

    So attention over a stale block, another request's block, or one computed after another prefix finds a wrong digest.
    """

    def __init__(self, group: CacheGroup) -> None:
        self.block_size = group.spec.block_size
        self.num_blocks = group.num_blocks
        self.window = group.spec.window if isinstance(group.spec, SlidingWindowSpec) else None
        self._slots = np.zeros(group.num_blocks * self.block_size, dtype=np.uint64)

    def first_seen(self, position: int) -> int:
        """First position that the token at ``position`` attends to."""
        return 0 if self.window is None else max(0, position - self.window + 1)

    def blocks(self, table: Sequence[int], start: int, end: int) -> list[int]:
        """Blocks that hold positions [start, end).

        Raises:
            PlanError: the table is too short, or names a block that cannot be used.
        """
        last = -(-end // self.block_size)
        if last > len(table):
            raise PlanError(f"positions up to {end} need {last} blocks, the table has {len(table)}")
        found = list(table[start // self.block_size : last])
        for block in found:
            if not NULL_BLOCK < block < self.num_blocks:
                raise PlanError(f"positions {start} to {end} use block {block} of {self.num_blocks}")
        return found

    def write(self, table: Sequence[int], start: int, digests: Sequence[int]) -> None:
        """Writes positions from ``start`` on."""
        self._slots[self._where(table, start, start + len(digests))] = np.array(digests, dtype=np.uint64)

    def verify(self, table: Sequence[int], start: int, digests: Sequence[int]) -> None:
        """Reads positions from ``start`` on as attention does.

        Raises:
            PlanError: a slot holds something else.
        """
        found = self._slots[self._where(table, start, start + len(digests))]
        wrong = np.flatnonzero(found != np.array(digests, dtype=np.uint64))
        if wrong.size:
            position = start + int(wrong[0])
            raise PlanError(
                f"attention at position {position} reads block {table[position // self.block_size]}, which does not "
                f"hold this request's token there ({wrong.size} of {len(digests)} positions are wrong)"
            )

    def read(self, table: Sequence[int], start: int, end: int) -> list[int]:
        """What positions [start, end) hold, whatever it is."""
        found: list[int] = self._slots[self._where(table, start, end)].tolist()
        return found

    @property
    def slots(self) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """All of them: that of a token in block b at offset o is ``b * block_size + o``."""
        return self._slots

    def _where(self, table: Sequence[int], start: int, end: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        size = self.block_size
        blocks = np.array(self.blocks(table, start, end), dtype=np.int64)
        positions = np.arange(start, end, dtype=np.int64)
        return blocks[positions // size - start // size] * size + positions % size
