"""Plans a step's attention on the host, once a cache group: which rows go together and which blocks they read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch, AttentionSpec

Ints = NDArray[np.int64]

MAX_PADDING = 1024
"""Tokens of padding in a group of decode rows before a group of its own is cheaper."""

TILE = 128
"""Queries of a prompt that are computed together, at most; more is slower."""

MAX_SCORES = 1 << 23
"""Scores of a tile over all heads, at most (down to ``MIN_TILE`` queries); bounds their memory."""

MIN_TILE = 8


@dataclass(frozen=True, kw_only=True)
class DecodeGroup:
    """Rows with one query each, padded to one length.

    Attributes:
        tokens: int64 [rows], index of each row's query in the step; None: all of the step, in order.
        pages: int64 [2 * rows * kv_heads * blocks], pages of keys, then of values; a page is one head of one block.
        rows: Number of rows.
        length: Keys of the longest row.
        mask: [rows, 1, 1, 1, length], 0 or -inf, in the wide dtype; None: every row sees every key.
    """

    tokens: Tensor | None
    pages: Tensor
    rows: int
    length: int
    mask: Tensor | None


@dataclass(frozen=True, kw_only=True)
class Tile:
    """Consecutive queries of one request.

    Attributes:
        start: First query, as an index into the step.
        stop: One after the last.
        first_key: First key that any of them sees, as an index into the gathered ones.
        last_key: One after the last.
        mask: [queries, last keys], 0 or -inf, in the wide dtype; all queries see the keys before these.
    """

    start: int
    stop: int
    first_key: int
    last_key: int
    mask: Tensor


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """Part of one prompt: the pages it reads (as in ``DecodeGroup``) and its queries in tiles."""

    pages: Tensor
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, kw_only=True)
class StepMetadata:
    """A step as one cache group sees it.

    Attributes:
        rows: int64 [tokens * 2 * kv_heads], where each token's keys, then values go, in rows of one head and token.
        fresh: int64, blocks that are begun in this step and not filled; None: there are none.
    """

    rows: Tensor
    fresh: Tensor | None
    decodes: tuple[DecodeGroup, ...]
    chunks: tuple[Chunk, ...]


def plan_step(batch: AttentionBatch, spec: AttentionSpec, wide: torch.dtype) -> StepMetadata:
    """Plans one step.

    Args:
        batch: The step's requests.
        spec: What the group's layers have in common.
        wide: Dtype of scores.
    """
    planner = _Planner(batch, spec, wide)
    single = np.flatnonzero(planner.counts == 1)
    decodes = tuple(planner.decode_group(rows) for rows in group_rows(single, planner.lengths))
    chunks = tuple(planner.chunk(int(row)) for row in np.flatnonzero(planner.counts > 1))
    fresh = planner.fresh_blocks()
    return StepMetadata(
        rows=planner.rows_to_write(),
        fresh=torch.from_numpy(fresh) if len(fresh) else None,
        decodes=decodes,
        chunks=chunks,
    )


def group_rows(rows: Ints, lengths: Ints) -> Iterator[Ints]:
    """Parts rows so that padding each part to its longest row wastes at most ``MAX_PADDING`` tokens."""
    if not len(rows):
        return
    of_rows = lengths[rows]
    if of_rows.max() * len(rows) - of_rows.sum() <= MAX_PADDING:
        yield rows
        return
    order = rows[np.argsort(-of_rows, kind="stable")]
    begin, waste = 0, 0
    for index, row in enumerate(order):
        waste += int(lengths[order[begin]] - lengths[row])
        if waste > MAX_PADDING:
            yield order[begin:index]
            begin, waste = index, 0
    yield order[begin:]


class _Planner:
    def __init__(self, batch: AttentionBatch, spec: AttentionSpec, wide: torch.dtype) -> None:
        self.batch = batch
        self.spec = spec
        self.wide = wide
        self.starts = batch.query_start_loc.astype(np.int64)
        self.counts = np.diff(self.starts)
        self.lengths = batch.seq_lens.astype(np.int64)
        self.triangles: dict[int, Tensor] = {}

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

    def decode_group(self, rows: Ints) -> DecodeGroup:
        size, table = self.spec.block_size, self.batch.block_table
        lengths = self.lengths[rows]
        low = np.zeros_like(lengths) if self.spec.window is None else np.maximum(lengths - self.spec.window, 0)
        first = low // size
        count = (lengths + size - 1) // size - first
        columns = first[:, None] + np.arange(count.max())
        inside = np.arange(count.max()) < count[:, None]
        blocks = np.where(inside, table[rows[:, None], np.minimum(columns, table.shape[1] - 1)], 0)
        low, high = low - first * size, lengths - first * size
        length = int(high.max())
        mask = None
        if low.any() or (high != length).any():
            keys = np.arange(length)
            mask = self.additive((keys >= low[:, None]) & (keys < high[:, None])).view(len(rows), 1, 1, 1, length)
        whole = len(rows) == len(self.lengths) == self.starts[-1] and bool((np.diff(rows) == 1).all())
        return DecodeGroup(
            tokens=None if whole else torch.from_numpy(self.starts[rows]),
            pages=self.pages(blocks),
            rows=len(rows),
            length=length,
            mask=mask,
        )

    def chunk(self, row: int) -> Chunk:
        size, window = self.spec.block_size, self.spec.window
        length = int(self.lengths[row])
        position = length - int(self.counts[row])
        first = 0 if window is None else max(0, position - window + 1) // size
        pages = self.pages(self.batch.block_table[row : row + 1, first : (length + size - 1) // size])
        longest = length if window is None else min(length, window + TILE)
        step = min(TILE, max(MIN_TILE, MAX_SCORES // (longest * self.spec.num_heads)))
        shift = int(self.starts[row]) - position
        tiles = []
        for begin in range(position, length, step):
            end = min(begin + step, length)
            low = 0 if window is None else max(0, begin - window + 1)
            mask = self.triangle(end - begin) if window is None else self.band(begin, end, low, window)
            tiles.append(
                Tile(
                    start=begin + shift,
                    stop=end + shift,
                    first_key=low - first * size,
                    last_key=end - first * size,
                    mask=mask,
                )
            )
        return Chunk(pages=pages, tiles=tuple(tiles))

    def pages(self, blocks: NDArray[np.integer]) -> Tensor:
        """Blocks [rows, blocks] -> pages in the order key or value, row, head, block."""
        heads = self.spec.num_kv_heads
        part = np.arange(2 * heads, dtype=np.int64).reshape(2, 1, heads, 1)
        pages = blocks.astype(np.int64)[None, :, None, :] * (2 * heads) + part
        return torch.from_numpy(pages.reshape(-1))

    def triangle(self, size: int) -> Tensor:
        """Mask of a tile's own keys: a query sees those up to itself."""
        if size not in self.triangles:
            self.triangles[size] = self.additive(np.tri(size, dtype=np.bool_))
        return self.triangles[size]

    def band(self, begin: int, end: int, low: int, window: int) -> Tensor:
        """Mask of queries begin to end over keys low to end, with a window."""
        queries, keys = np.arange(begin, end)[:, None], np.arange(low, end)
        return self.additive((keys <= queries) & (keys > queries - window))

    def additive(self, seen: NDArray[np.bool_]) -> Tensor:
        return torch.zeros(seen.shape, dtype=self.wide).masked_fill_(torch.from_numpy(~seen), -torch.inf)
