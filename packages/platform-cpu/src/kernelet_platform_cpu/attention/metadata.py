"""Plans a step's attention on the host, once a cache group: tiles of queries, and the spans of keys that each reads."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch, AttentionSpec

Ints = NDArray[np.int64]

QUERIES = 16
"""Queries of a tile. Tiles begin at positions that are multiples of it, and a tile is always computed whole."""

LEAST_KEYS = 64
"""Keys of a span are a multiple of it, and so of ``QUERIES``."""


@dataclass(frozen=True, kw_only=True)
class Tile:
    """Queries of one request whose positions lie in one tile.

    Attributes:
        start: First query, as an index into the step.
        stop: One after the last.
        row: The first query's place in the tile.
        first: First span that any query of the whole tile sees, as an index into the gathered ones.
        last: One after the last.
        mask: [QUERIES, last spans, keys], 0 or -inf, in the wide dtype; every query sees all of the spans before these.
    """

    start: int
    stop: int
    row: int
    first: int
    last: int
    mask: Tensor


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a step computes of one request.

    Attributes:
        pages: int64, pages of keys, then of values; in each by span, head and block. A page is one head of one block.
        tiles: Its queries.
    """

    pages: Tensor
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, kw_only=True)
class StepMetadata:
    """A step as one cache group sees it.

    Attributes:
        rows: int64 [tokens * 2 * kv_heads], where each token's keys, then values go, in rows of one head and token.
        fresh: int64, blocks that are begun in this step and not filled; None: there are none.
        parts: One a request.
    """

    rows: Tensor
    fresh: Tensor | None
    parts: tuple[Part, ...]


def span_keys(spec: AttentionSpec) -> int:
    """Keys of a span: whole blocks."""
    return math.lcm(spec.block_size, LEAST_KEYS)


def plan_step(batch: AttentionBatch, spec: AttentionSpec, wide: torch.dtype) -> StepMetadata:
    """Plans one step.

    Args:
        batch: The step's requests.
        spec: What the group's layers have in common.
        wide: Dtype of scores.
    """
    planner = _Planner(batch, spec, wide)
    fresh = planner.fresh_blocks()
    return StepMetadata(
        rows=planner.rows_to_write(),
        fresh=torch.from_numpy(fresh) if len(fresh) else None,
        parts=tuple(planner.part(int(row)) for row in np.flatnonzero(planner.counts)),
    )


class _Planner:
    def __init__(self, batch: AttentionBatch, spec: AttentionSpec, wide: torch.dtype) -> None:
        self.batch = batch
        self.spec = spec
        self.wide = wide
        self.keys = span_keys(spec)
        self.starts = batch.query_start_loc.astype(np.int64)
        self.counts = np.diff(self.starts)
        self.lengths = batch.seq_lens.astype(np.int64)
        self.masks: dict[tuple[int, int], Tensor] = {}

    def rows_to_write(self) -> Tensor:
        size, heads = self.spec.block_size, self.spec.num_kv_heads
        blocks, offsets = np.divmod(self.batch.slot_mapping, size)
        rows = (blocks[:, None] * (2 * heads) + np.arange(2 * heads)) * size + offsets[:, None]
        return torch.from_numpy(rows.reshape(-1))

    def fresh_blocks(self) -> Ints:
        """Last blocks of requests that this step begins and does not fill."""
        size = self.spec.block_size
        last_start = (self.lengths - 1) // size * size
        begun = (self.counts > 0) & (last_start >= self.lengths - self.counts) & (self.lengths % size != 0)
        blocks: Ints = self.batch.slot_mapping[self.starts[1:][begun] - 1] // size
        return blocks

    def part(self, row: int) -> Part:
        length, count = int(self.lengths[row]), int(self.counts[row])
        position = length - count
        shift = int(self.starts[row]) - position
        first = self.first_span(position // QUERIES * QUERIES)
        tiles = []
        for begin in range(position // QUERIES * QUERIES, length, QUERIES):
            low = max(begin, position)
            last = begin // self.keys + 1
            tiles.append(
                Tile(
                    start=low + shift,
                    stop=min(begin + QUERIES, length) + shift,
                    row=low - begin,
                    first=self.first_span(begin) - first,
                    last=last - first,
                    mask=self.mask(begin, last),
                )
            )
        return Part(pages=self.pages(row, first, (length - 1) // self.keys + 1), tiles=tuple(tiles))

    def first_span(self, begin: int) -> int:
        """The first span that a query of the tile at a position sees."""
        return 0 if self.spec.window is None else max(0, begin - self.spec.window + 1) // self.keys

    def pages(self, row: int, first: int, last: int) -> Tensor:
        """Spans of a request -> pages; blocks that it does not have are the null block, which no query sees."""
        size, heads = self.spec.block_size, self.spec.num_kv_heads
        columns = np.arange(first * self.keys // size, last * self.keys // size)
        table = self.batch.block_table[row]
        has = columns < -(-int(self.lengths[row]) // size)
        blocks = np.where(has, table[np.minimum(columns, len(table) - 1)], 0).astype(np.int64)
        part = np.arange(2 * heads, dtype=np.int64).reshape(2, 1, heads, 1)
        return torch.from_numpy((blocks.reshape(1, last - first, 1, -1) * (2 * heads) + part).reshape(-1))

    def mask(self, begin: int, last: int) -> Tensor:
        """Of the tile at a position: where all are seen but in the last span, of that one only."""
        first = last - 1 if self.spec.window is None else self.first_span(begin)
        place = (begin - first * self.keys, last - first)  # tiles at the same place have the same mask
        if place not in self.masks:
            queries, keys = np.arange(begin, begin + QUERIES)[:, None], np.arange(first * self.keys, last * self.keys)
            seen = keys <= queries
            if self.spec.window is not None:
                seen &= keys > queries - self.spec.window
            mask = torch.zeros(seen.shape, dtype=self.wide).masked_fill_(torch.from_numpy(~seen), -torch.inf)
            self.masks[place] = mask.view(QUERIES, last - first, self.keys)
        return self.masks[place]
