"""The pages of this rank's caches, for connectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.attention import Attention
from kernelet.contracts.cache import NULL_BLOCK
from kernelet.contracts.kv import KVLayout, KVRegion
from kernelet.worker.kv_transfer.transfers import Transfers


class CachePages:
    """``kernelet.contracts.kv.KVPages`` over the caches of all layers.

    Args:
        layouts: One a group.
        caches: Attention and cache of each layer, by its name.
        transfers: Which loads may write.
        device: Where the caches live: what ``torch.device`` takes.
    """

    def __init__(
        self,
        layouts: Sequence[KVLayout],
        caches: Mapping[str, tuple[Attention, Any]],
        transfers: Transfers,
        device: Any = "cpu",
    ) -> None:
        self._device = device
        self._layouts = tuple(layouts)
        self._of = {name: layout for layout in layouts for name in layout.layers}
        self._caches = dict(caches)
        self._transfers = transfers

    @property
    def layouts(self) -> tuple[KVLayout, ...]:
        return self._layouts

    def read(self, layer: str, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        """See ``KVPages.read``.

        Raises:
            ValueError: the blocks do not hold these tokens.
            RuntimeError: the caches are gone.
        """
        self._check_blocks(layer, block_ids, start, end)
        with self._transfers.reading():
            attention, cache = self._caches[layer]
            return tuple(part.cpu() for part in attention.export_pages(cache, block_ids, start, end))

    def write(self, transfer: int, layer: str, block_ids: Sequence[int], start: int, parts: Sequence[Tensor]) -> bool:
        """See ``KVPages.write``.

        Raises:
            ValueError: the blocks do not hold these tokens, or the parts are of another shape or dtype.
        """
        self._check_parts(layer, parts)
        self._check_blocks(layer, block_ids, start, start + len(parts[0]))
        with self._transfers.writing(transfer) as may:
            if may:
                attention, cache = self._caches[layer]
                attention.import_pages(cache, block_ids, start, [part.to(self._device) for part in parts])
            return may

    def regions(self, layer: str) -> tuple[KVRegion, ...]:
        """See ``KVPages.regions``."""
        attention, cache = self._caches[layer]
        found = attention.regions(cache)
        self._transfers.bypassed |= bool(found)
        return found

    def clear_behind(self, block_ids: Sequence[Sequence[int]], num_tokens: int) -> None:
        """Zeros behind the last token of a request, to the end of its block: an earlier owner may have left NaN.

        Args:
            block_ids: The request's block list in each group.
            num_tokens: Tokens that it has in the cache.
        """
        for layout, blocks in zip(self._layouts, block_ids, strict=True):
            count = -num_tokens % layout.block_size
            if not count:
                continue
            zeros = [
                torch.zeros(
                    count, layout.num_kv_heads, part.width, dtype=getattr(torch, part.dtype), device=self._device
                )
                for part in layout.parts
            ]
            for name in layout.layers:
                attention, cache = self._caches[name]
                attention.import_pages(cache, blocks, num_tokens, zeros)

    def _check_blocks(self, layer: str, block_ids: Sequence[int], start: int, end: int) -> None:
        size = self._of[layer].block_size
        if not 0 <= start <= end <= len(block_ids) * size:
            raise ValueError(f"{layer}: tokens {start} to {end} are not in {len(block_ids)} blocks of {size}")
        for block in block_ids[start // size : -(-end // size)]:
            if not NULL_BLOCK < block < self._of[layer].num_blocks:
                raise ValueError(f"{layer}: a block of tokens {start} to {end} is {block}: they are not kept any more")

    def _check_parts(self, layer: str, parts: Sequence[Tensor]) -> None:
        layout = self._of[layer]
        count = len(parts[0]) if len(parts) else 0
        found = [(tuple(part.shape), part.dtype) for part in parts]
        wanted = [((count, layout.num_kv_heads, part.width), getattr(torch, part.dtype)) for part in layout.parts]
        if found != wanted:
            raise ValueError(f"{layer} keeps {_say(wanted)} of so many tokens, not {_say(found)}")


def _say(parts: Sequence[tuple[tuple[int, ...], torch.dtype]]) -> str:
    return ", ".join(f"{list(shape)} of {dtype}" for shape, dtype in parts) or "nothing"
