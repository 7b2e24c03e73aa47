"""A step as one cache group sees it, on the device, and its tiles of queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch
from kernelet_attention_triton.configurations import SHORT

Ints = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """Tiles of queries of some requests.

    Attributes:
        table: int32 [tiles, 4]: row of the block table, first token of the step, tokens, position of the first.
        longest: Keys of the longest request.
    """

    table: Tensor
    longest: int


class StepMetadata:
    """Shared by the layers of a group, whose tiles differ with the number of their heads: those are made when asked.

    Attributes:
        slots: int64 [tokens].
        blocks: int32 [requests, blocks].

    Args:
        batch: The step.
        device: Where kernels run.
    """

    def __init__(self, batch: AttentionBatch, device: torch.device) -> None:
        self.slots = torch.from_numpy(batch.slot_mapping).to(device)
        self.blocks = torch.from_numpy(batch.block_table).to(device)
        self._device = device
        self._starts = batch.query_start_loc[:-1].copy()
        self._counts = np.diff(batch.query_start_loc)
        self._lengths = batch.seq_lens.copy()
        self._tiles: dict[tuple[bool, int], Tiles | None] = {}

    def short(self, queries: int) -> Tiles | None:
        """Of requests with few tokens in this step; None: there are none.

        Args:
            queries: Of a tile.
        """
        return self._made(True, queries)

    def long(self, queries: int) -> Tiles | None:
        """Of the others."""
        return self._made(False, queries)

    def _made(self, short: bool, queries: int) -> Tiles | None:
        if (short, queries) not in self._tiles:
            mine = (self._counts > 0) & ((self._counts <= SHORT) == short)
            self._tiles[short, queries] = self._cut(np.flatnonzero(mine), queries)
        return self._tiles[short, queries]

    def _cut(self, rows: NDArray[Any], queries: int) -> Tiles | None:
        if not len(rows):
            return None
        counts = self._counts[rows]
        number = -(-counts // queries)
        row = np.repeat(rows, number)
        offset = (np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)) * queries
        taken = np.minimum(self._counts[row] - offset, queries)
        position = self._lengths[row] - self._counts[row] + offset
        table: Ints = np.stack((row, self._starts[row] + offset, taken, position), 1).astype(np.int32)
        return Tiles(table=torch.from_numpy(table).to(self._device), longest=int(self._lengths[rows].max()))
