"""Attention whose pages cannot be given away, or come back wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.kv_pages import KVRegion
from kernelet.testing.attention.kept import SlowKept


class ValuesFirst(SlowKept):
    def export_pages(self, cache: Any, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        key, value, *scales = super().export_pages(cache, block_ids, start, end)
        return value, key, *scales


class WholeBlocks(SlowKept):
    """Clears the blocks that it stores to."""

    def import_pages(self, cache: Any, block_ids: Sequence[int], start: int, parts: Sequence[Tensor]) -> None:
        size = self.spec.block_size
        for block in block_ids[start // size : -(-(start + len(parts[0])) // size)]:
            for part in cache if isinstance(cache, list) else [cache]:
                part[:, block] = 0
        super().import_pages(cache, block_ids, start, parts)


class GivesViews(SlowKept):
    """Of its own memory, where all lies in one block."""

    def export_pages(self, cache: Any, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        size = self.spec.block_size
        if self.spec.cache_form or start // size != (end - 1) // size:
            return super().export_pages(cache, block_ids, start, end)
        return tuple(cache[:, block_ids[start // size], start % size : start % size + end - start])


class ForgetsScales(SlowKept):
    def import_pages(self, cache: Any, block_ids: Sequence[int], start: int, parts: Sequence[Tensor]) -> None:
        if self.spec.cache_scales == "token_head":
            parts = [*parts[:2], *(torch.ones_like(part) for part in parts[2:])]
        super().import_pages(cache, block_ids, start, parts)


class GivesNumbers(SlowKept):
    """What elements are, not what is stored."""

    def export_pages(self, cache: Any, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        return tuple(part.double() for part in super().export_pages(cache, block_ids, start, end))


class OneLayoutForAll(SlowKept):
    def native_layout(self) -> str:
        return "slow"


class HalfItsMemory(SlowKept):
    def regions(self, cache: Any) -> tuple[KVRegion, ...]:
        return super().regions(cache)[::2]


EXCHANGE_PLANTED: tuple[tuple[str, type[Any], str], ...] = (
    ("gives-values-for-keys", ValuesFirst, "export_pages() must give what the cache holds of tokens [start, end)"),
    ("gives-views-of-its-cache", GivesViews, "export_pages() must give copies"),
    ("clears-blocks-it-imports-to", WholeBlocks, "what else is in their blocks stays"),
    ("imports-no-scales", ForgetsScales, "what import_pages() stored must come back from export_pages()"),
    ("exports-numbers", GivesNumbers, "export_pages() must give each of AttentionSpec.cache_parts"),
    ("names-one-layout-for-all", OneLayoutForAll, "native_layout() must name all that a page depends on"),
    ("names-half-its-memory", HalfItsMemory, "regions() must name all memory of a block"),
)
"""Name, attention, and what the suite says of it."""
