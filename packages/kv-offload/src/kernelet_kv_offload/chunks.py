"""A chunk in memory: the parts of every layer of every group, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from kernelet.contracts.kv import KVPages
from kernelet_kv_offload.options import aligned, chunk_bytes


@dataclass(frozen=True)
class Span:
    """Where a part lies in a chunk."""

    offset: int
    size: int
    dtype: torch.dtype
    shape: tuple[int, int, int]

    def of(self, chunk: Tensor) -> Tensor:
        """The part [token, head, width], in the chunk's own memory."""
        return chunk[self.offset : self.offset + self.size].view(self.dtype).view(self.shape)


class Chunks:
    """Copies chunks between pages and memory."""

    def __init__(self, pages: KVPages, tokens: int) -> None:
        self.tokens = tokens
        self.num_bytes = chunk_bytes(pages.layouts, tokens)
        self._pages = pages
        self._groups = tuple(pages.layouts)
        self._spans: dict[str, list[Span]] = {}
        offset = 0
        for layout in self._groups:
            for layer in layout.layers:
                self._spans[layer] = spans = []
                for part in layout.parts:
                    dtype = getattr(torch, part.dtype)
                    size = tokens * layout.num_kv_heads * part.width * dtype.itemsize
                    spans.append(Span(offset, size, dtype, (tokens, layout.num_kv_heads, part.width)))
                    offset += aligned(size)
        assert offset == self.num_bytes

    def make(self) -> Tensor:
        """Memory for one chunk, for any thread."""
        with torch.inference_mode(mode=False):
            return torch.empty(self.num_bytes, dtype=torch.uint8)

    def read(self, chunk: Tensor, starts: Sequence[int], blocks: Sequence[Sequence[int]]) -> None:
        """Copies a chunk's tokens from pages.

        Args:
            chunk: Where to.
            starts: Its first token in each group, counted from the first token of the group's blocks.
            blocks: By group.
        """
        for layout, start, block_ids in zip(self._groups, starts, blocks, strict=True):
            for layer in layout.layers:
                parts = self._pages.read(layer, block_ids, start, start + self.tokens)
                for span, part in zip(self._spans[layer], parts, strict=True):
                    span.of(chunk).copy_(part)

    def write(
        self, transfer: int, chunk: Tensor, at: int, start: int, end: int, blocks: Sequence[Sequence[int]]
    ) -> bool:
        """Copies tokens [start, end) of a chunk that begins at token ``at`` into pages, but for dropped blocks.

        Returns:
            False: the load is over already.
        """
        for layout, block_ids in zip(self._groups, blocks, strict=True):
            first = max(at, start, layout.first_kept(block_ids))
            last = min(at + self.tokens, end)
            if first >= last:
                continue
            for layer in layout.layers:
                parts = [span.of(chunk)[first - at : last - at] for span in self._spans[layer]]
                if not self._pages.write(transfer, layer, block_ids, first, parts):
                    return False
        return True

    def suffices(self, end: int, blocks: Sequence[Sequence[int]]) -> bool:
        """Whether all that is seen behind token ``end`` is in blocks that were not dropped."""
        return all(
            max(0, end + 1 - layout.window) >= layout.first_kept(block_ids)
            for layout, block_ids in zip(self._groups, blocks, strict=True)
            if layout.window is not None
        )
