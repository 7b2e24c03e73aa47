"""Pages as they travel: for each layer, each part of tokens [start, end) in canonical order, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from kernelet.contracts.kv import KVLayout, KVPages

PARTS = 8
"""A load goes in so many parts at least, where it has so many tokens."""
ALIGNMENT = 16
"""Bytes; each part of a layer begins at a multiple."""


def bytes_for(layouts: Sequence[KVLayout], tokens: int) -> int:
    """What so many tokens take."""
    return sum(len(layout.layers) * sum(_aligned(size) for size in _sizes(layout, tokens)) for layout in layouts)


def cut(layouts: Sequence[KVLayout], start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    """Stretches of [start, end), of which each takes ``most`` bytes at most, or is one token."""
    tokens = end - start
    fit = max(1, most // bytes_for(layouts, 1))
    count = max(-(-tokens // fit), min(PARTS, tokens))
    edges = [start + tokens * index // count for index in range(count + 1)]
    yield from pairwise(edges)


def first_end(layouts: Sequence[KVLayout], block_ids: Sequence[Sequence[int]]) -> int:
    """From which number of tokens on all is there that the next token sees."""
    needed = [0]
    for layout, ids in zip(layouts, block_ids, strict=True):
        kept = layout.first_kept(ids)
        if kept:
            needed.append(kept + (layout.window or 1) - 1)
    return max(needed)


def pack(pages: KVPages, block_ids: Sequence[Sequence[int]], start: int, end: int, memory: Tensor) -> int:
    """Copies tokens [start, end) into memory; dropped ones are zeros.

    Returns:
        Bytes.
    """
    offset = 0
    for layout, ids in zip(pages.layouts, block_ids, strict=True):
        kept = min(max(start, layout.first_kept(ids)), end)
        for layer in layout.layers:
            parts = pages.read(layer, ids, kept, end) if kept < end else ()
            for index, size in enumerate(_sizes(layout, end - start)):
                into = memory[offset : offset + size]
                skipped = size // (end - start) * (kept - start)
                into[:skipped].zero_()
                if parts:
                    into[skipped:].copy_(parts[index].contiguous().reshape(-1).view(torch.uint8))
                offset += _aligned(size)
    return offset


def unpack(
    pages: KVPages,
    transfer: int,
    block_ids: Sequence[Sequence[int]],
    start: int,
    end: int,
    memory: Tensor,
    *,
    inside: tuple[int, int] | None = None,
) -> bool:
    """Writes what ``pack`` made of tokens [start, end), or those of them that are inside.

    Returns:
        False: the transfer is over.
    """
    first, last = inside or (start, end)
    offset = 0
    for layout, ids in zip(pages.layouts, block_ids, strict=True):
        kept = max(first, layout.first_kept(ids))
        for layer in layout.layers:
            parts = []
            for part, size in zip(layout.parts, _sizes(layout, end - start), strict=True):
                whole = memory[offset : offset + size].view(getattr(torch, part.dtype))
                whole = whole.view(end - start, layout.num_kv_heads, part.width)
                parts.append(whole[kept - start : last - start])
                offset += _aligned(size)
            if kept < last and not pages.write(transfer, layer, ids, kept, parts):
                return False
    return True


def _sizes(layout: KVLayout, tokens: int) -> list[int]:
    """Bytes of each part."""
    heads = tokens * layout.num_kv_heads
    return [heads * part.width * getattr(torch, part.dtype).itemsize for part in layout.parts]


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
