"""Block ids of the requests that a worker holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernelet.contracts.cache import NULL_BLOCK


class BlockTable:
    """One cache group's block lists, a row a request; unused entries are the null block.

    Attributes:
        block_size: Tokens a block.
        window: A token sees itself and ``window - 1`` tokens before it; None: all before it.
        ids: int32 [rows, blocks].

    Args:
        block_size: Tokens a block.
        rows: Requests to begin with.
        max_tokens: Largest number of tokens of a request.
        window: As the attribute.
    """

    def __init__(self, block_size: int, rows: int, max_tokens: int, window: int | None = None) -> None:
        self.block_size = block_size
        self.window = window
        self._max_blocks = -(-max_tokens // block_size)
        self.ids: NDArray[np.int32] = np.zeros((rows, self._max_blocks), dtype=np.int32)
        self._counts = [0] * rows

    def grow(self, rows: int) -> None:
        """Makes room for more rows."""
        more = rows - len(self.ids)
        self.ids = np.concatenate([self.ids, np.zeros((more, self._max_blocks), dtype=np.int32)])
        self._counts += [0] * more

    def visible(self, rows: NDArray[np.int64], computed: NDArray[np.int64], num_blocks: int) -> NDArray[np.int32]:
        """What a step's tokens see: int32 [rows, num_blocks], dropped blocks and unused entries are the null block.

        Args:
            rows: int64 [requests].
            computed: int64 [requests], tokens computed before the step.
            num_blocks: Width of the result.
        """
        seen = self.ids[rows, :num_blocks]
        if self.window is not None:
            first = np.maximum(computed - self.window + 1, 0) // self.block_size
            seen[np.arange(num_blocks) < first[:, None]] = NULL_BLOCK
        return seen

    def clear(self, row: int) -> None:
        """The row is free again."""
        self.ids[row, : self._counts[row]] = 0
        self._counts[row] = 0

    def append(self, row: int, blocks: Sequence[int]) -> None:
        """Adds blocks to a request's list.

        Raises:
            ValueError: if they are more than the longest request has.
        """
        start = self._counts[row]
        stop = start + len(blocks)
        if stop > self._max_blocks:
            raise ValueError(f"{stop} blocks were given to a request that can have {self._max_blocks}")
        self.ids[row, start:stop] = blocks
        self._counts[row] = stop
