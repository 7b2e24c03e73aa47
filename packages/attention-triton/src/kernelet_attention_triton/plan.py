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
from kernelet_attention_triton.trees import Trees

Ints = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """Tiles of queries of some requests.

    Attributes:
        table: int32 [tiles, 6], see ``device.attend``.
        longest: Keys of the longest request.
        most: Queries of the fullest tile.
    """

    table: Tensor
    longest: int
    most: int


class StepMetadata:
    """Shared by the layers of a group, whose tiles differ with the number of their heads: those are made when asked.

    Attributes:
        slots: int64 [tokens].
        blocks: int32 [requests, blocks].
        masks: int64 [tokens], what the tokens of draft trees see of them; None: there are no trees.
        places: int32 [tokens], the position that the window of a token is counted from; there if ``masks`` is.

    Args:
        batch: The step.
        device: Where kernels run.
        window: Of the group's layers.
    """

    def __init__(self, batch: AttentionBatch, device: torch.device, window: int | None = None) -> None:
        self.slots = torch.from_numpy(batch.slot_mapping).to(device)
        self.blocks = torch.from_numpy(batch.block_table).to(device)
        self._device = device
        self._starts = batch.query_start_loc[:-1].copy()
        self._counts = np.diff(batch.query_start_loc)
        self._lengths = batch.seq_lens.copy()
        self._trees = Trees.of(batch, window)
        self.masks = None if self._trees is None else torch.from_numpy(self._trees.masks).to(device)
        self.places = None if self._trees is None else torch.from_numpy(self._trees.places).to(device)
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
        first, position = self._starts[row] + offset, self._lengths[row] - self._counts[row] + offset
        tree, lowest = self._lengths[row], position
        if self._trees is not None:
            inside = np.minimum(np.arange(queries), taken[:, None] - 1)
            tree, lowest = self._trees.starts[row], self._trees.places[first[:, None] + inside].min(1)
        table: Ints = np.stack((row, first, taken, position, tree, lowest), 1).astype(np.int32)
        return Tiles(
            table=torch.from_numpy(table).to(self._device),
            longest=int(self._lengths[rows].max()),
            most=int(taken.max()),
        )


class RecordedMetadata:
    """Of steps in which each request computes one token, in tensors that stay where they are.

    Attributes:
        slots: int64 [requests].
        blocks: int32 [requests, blocks].
        masks: Always None, as for the next.
        places: There are no trees.

    Args:
        num_requests: Of every step.
        num_blocks: Width of the block table.
        block_size: Tokens a block.
        device: Where kernels run.
    """

    masks = places = None

    def __init__(self, num_requests: int, num_blocks: int, block_size: int, device: torch.device) -> None:
        self.slots = torch.zeros(num_requests, dtype=torch.int64, device=device)
        self.blocks = torch.zeros(num_requests, num_blocks, dtype=torch.int32, device=device)
        rows = torch.arange(num_requests, dtype=torch.int32)
        ones, zeros = torch.ones_like(rows), torch.zeros_like(rows)
        table = torch.stack((rows, rows, ones, zeros, ones, zeros), 1).to(device)
        self._tiles = Tiles(table=table, longest=num_blocks * block_size, most=1)

    def refill(self, batch: AttentionBatch) -> None:
        """Makes it the metadata of a step."""
        self.slots.copy_(torch.from_numpy(batch.slot_mapping))
        self.blocks.copy_(torch.from_numpy(batch.block_table))
        last = np.stack((batch.seq_lens - 1, batch.seq_lens, batch.seq_lens - 1), 1).astype(np.int32)
        self._tiles.table[:, 3:].copy_(torch.from_numpy(last))

    def short(self, _queries: int) -> Tiles:
        """All requests: a tile each, however many queries it has room for."""
        return self._tiles

    def long(self, _queries: int) -> None:
        """There are no others."""
