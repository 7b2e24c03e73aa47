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

MAX_PADDING = 512
"""Tokens of padding in a group of decode rows before a group of its own is cheaper."""

TILE = 256
"""Queries of a prompt that share one mask and one range of keys."""


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
        mask: [queries, keys], 0 or -inf, in the cache's dtype; None: the queries are the keys' own tokens, causal.
    """

    start: int
    stop: int
    first_key: int
    last_key: int
    mask: Tensor | None


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """Part of one prompt: the pages it reads (as in ``DecodeGroup``) and its queries in tiles."""

    pages: Tensor
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, kw_only=True)
class StepMetadata:
    """A step as one cache group sees it.

    Attributes:
        blocks: int64 [tokens], where each token's key and value go.
        offsets: int64 [tokens], the place inside the block.
        fresh: int64, blocks that are begun in this step and not filled; None: there are none.
    """

    blocks: Tensor
    offsets: Tensor
    fresh: Tensor | None
    decodes: tuple[DecodeGroup, ...]
    chunks: tuple[Chunk, ...]


def plan_step(batch: AttentionBatch, spec: AttentionSpec, dtype: torch.dtype, wide: torch.dtype) -> StepMetadata:
    """Plans one step.

    Args:
        batch: The step's requests.
        spec: What the group's layers have in common.
        dtype: Dtype of the cache.
        wide: Dtype of scores.
    """
    starts = batch.query_start_loc.astype(np.int64)
    counts = np.diff(starts)
    lengths = batch.seq_lens.astype(np.int64)
    single = np.flatnonzero(counts == 1)
    planner = _Planner(batch, spec, starts, lengths)
    decodes = tuple(planner.decode_group(rows, wide) for rows in group_rows(single, lengths))
    chunks = tuple(planner.chunk(int(row), dtype) for row in np.flatnonzero(counts > 1))
    blocks, offsets = np.divmod(batch.slot_mapping, spec.block_size)
    last_start = (lengths - 1) // spec.block_size * spec.block_size
    begun = (counts > 0) & (last_start >= lengths - counts) & (lengths % spec.block_size != 0)
    fresh = blocks[starts[1:][begun] - 1]
    return StepMetadata(
        blocks=torch.from_numpy(blocks),
        offsets=torch.from_numpy(offsets),
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
    def __init__(self, batch: AttentionBatch, spec: AttentionSpec, starts: Ints, lengths: Ints) -> None:
        self.table = batch.block_table
        self.spec = spec
        self.starts = starts
        self.lengths = lengths

    def decode_group(self, rows: Ints, wide: torch.dtype) -> DecodeGroup:
        size = self.spec.block_size
        lengths = self.lengths[rows]
        low = np.zeros_like(lengths) if self.spec.window is None else np.maximum(lengths - self.spec.window, 0)
        first = low // size
        count = (lengths + size - 1) // size - first
        columns = first[:, None] + np.arange(count.max())
        inside = np.arange(count.max()) < count[:, None]
        blocks = np.where(inside, self.table[rows[:, None], np.minimum(columns, self.table.shape[1] - 1)], 0)
        low, high = low - first * size, lengths - first * size
        length = int(high.max())
        mask = None
        if low.any() or (high != length).any():
            keys = np.arange(length)
            mask = _additive((keys >= low[:, None]) & (keys < high[:, None]), wide).view(len(rows), 1, 1, 1, length)
        whole = len(rows) == len(self.lengths) == self.starts[-1] and bool((np.diff(rows) == 1).all())
        return DecodeGroup(
            tokens=None if whole else torch.from_numpy(self.starts[rows]),
            pages=self.pages(blocks),
            rows=len(rows),
            length=length,
            mask=mask,
        )

    def chunk(self, row: int, dtype: torch.dtype) -> Chunk:
        size, window = self.spec.block_size, self.spec.window
        start, stop = int(self.starts[row]), int(self.starts[row + 1])
        length = int(self.lengths[row])
        position = length - (stop - start)
        first = 0 if window is None else max(0, position - window + 1) // size
        pages = self.pages(self.table[row : row + 1, first : (length + size - 1) // size])
        if position == 0 and (window is None or length <= window):
            tile = Tile(start=start, stop=stop, first_key=0, last_key=length, mask=None)
            return Chunk(pages=pages, tiles=(tile,))
        tiles = []
        for begin in range(position, length, TILE):
            end = min(begin + TILE, length)
            low = 0 if window is None else max(0, begin - window + 1)
            queries, keys = np.arange(begin, end)[:, None], np.arange(low, end)
            seen = keys <= queries
            if window is not None:
                seen &= keys > queries - window
            tiles.append(
                Tile(
                    start=start + begin - position,
                    stop=start + end - position,
                    first_key=low - first * size,
                    last_key=end - first * size,
                    mask=_additive(seen, dtype),
                )
            )
        return Chunk(pages=pages, tiles=tuple(tiles))

    def pages(self, blocks: NDArray[np.integer]) -> Tensor:
        """Blocks [rows, blocks] -> pages in the order key or value, row, head, block."""
        heads = self.spec.num_kv_heads
        part = np.arange(2 * heads, dtype=np.int64).reshape(2, 1, heads, 1)
        pages = blocks.astype(np.int64)[None, :, None, :] * (2 * heads) + part
        return torch.from_numpy(pages.reshape(-1))


def _additive(seen: NDArray[np.bool_], dtype: torch.dtype) -> Tensor:
    return torch.zeros(seen.shape, dtype=dtype).masked_fill_(torch.from_numpy(~seen), -torch.inf)
