"""Wrong attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch, AttentionOffer, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.testing.attention.exchange_faults import EXCHANGE_PLANTED
from kernelet.testing.attention.kept import FORMS
from kernelet.testing.attention.kept_faults import KEPT_PLANTED
from kernelet.testing.attention.latent_faults import LATENT_PLANTED
from kernelet.testing.attention.layers import AttentionCapabilities
from kernelet.testing.attention.recorded_faults import RECORDED_PLANTED
from kernelet.testing.attention.reference import SlowAttention, attend
from kernelet.testing.attention.suite import AttentionSuite
from kernelet.testing.attention.tree_faults import TREE_PLANTED
from kernelet.testing.faults import Fault
from kernelet.testing.offered import Offered

SETTINGS = Settings(plugin="faulty")
PLAIN = ("full", "sliding")


def suite_of(
    attention: type[Any], cache_dtypes: tuple[str, ...] = (), kinds: tuple[str, ...] = PLAIN
) -> type[AttentionSuite]:
    """The suite as the author of that attention writes it."""

    class Faulty(AttentionSuite):
        capabilities = AttentionCapabilities(
            dtypes=("float64", "bfloat16"), head_sizes=(8, 5), block_sizes=(4,), max_len=200, batch_invariant=True
        )

        @pytest.fixture
        def offered(self) -> Offered[AttentionOffer]:
            offer = AttentionOffer(
                name="faulty",
                target=f"{attention.__module__}:{attention.__qualname__}",
                kinds=frozenset(kinds),
                soft_cap=True,
                sinks=True,
                cache_dtypes=cache_dtypes,
            )
            return Offered(offer=offer, settings=SETTINGS, target=attention)

    return Faulty


class NotAttention:
    def __init__(self, *_: object) -> None:
        """Takes anything."""


class WideWindow(SlowAttention):
    def attend(self, query: Tensor, key: Tensor, value: Tensor, sinks: Tensor | None) -> Tensor:
        spec = self.spec if self.spec.window is None else replace(self.spec, window=self.spec.window + 1)
        return attend(query, key, value, spec, sinks)

    def seen(self, cache: Tensor, table: np.ndarray[Any, Any], length: int, queries: int) -> tuple[Tensor, Tensor]:
        blocks, offsets = np.divmod(np.arange(length), self.spec.block_size)
        return cache[0][table[blocks], offsets], cache[1][table[blocks], offsets]


class CapBeforeScale(SlowAttention):
    def attend(self, query: Tensor, key: Tensor, value: Tensor, sinks: Tensor | None) -> Tensor:
        if self.spec.soft_cap is None:
            return super().attend(query, key, value, sinks)
        spec = replace(self.spec, soft_cap=self.spec.soft_cap / self.spec.scale)
        return attend(query, key, value, spec, sinks)


class NoSinks(SlowAttention):
    def attend(self, query: Tensor, key: Tensor, value: Tensor, sinks: Tensor | None) -> Tensor:
        return super().attend(query, key, value, None)


class InterleavedHeads(SlowAttention):
    def attend(self, query: Tensor, key: Tensor, value: Tensor, sinks: Tensor | None) -> Tensor:
        copies = self.spec.num_heads // self.spec.num_kv_heads
        spec = replace(self.spec, num_kv_heads=self.spec.num_heads)
        return attend(query, key.repeat(1, copies, 1), value.repeat(1, copies, 1), spec, sinks)


class Narrow(SlowAttention):
    def attend(self, query: Tensor, key: Tensor, value: Tensor, sinks: Tensor | None) -> Tensor:
        total = torch.zeros_like(query)
        weights = super().attend(
            query, key, torch.eye(len(key), dtype=key.dtype)[:, None].expand(-1, key.shape[1], -1), sinks
        )
        group = self.spec.num_heads // self.spec.num_kv_heads
        for position, row in enumerate(value.repeat_interleave(group, 1)):
            total += weights[:, :, position, None].to(query.dtype) * row
        return total


class FromTheStep(SlowAttention):
    """Attends to keys and values as it was given them, if it was given all."""

    given: tuple[Tensor, Tensor]

    def write_kv(self, key: Tensor, value: Tensor, cache: Tensor, metadata: AttentionBatch) -> None:
        super().write_kv(key, value, cache, metadata)
        self.given = (key.clone(), value.clone())

    def forward(self, query: Tensor, cache: Tensor, metadata: AttentionBatch, sinks: Tensor | None = None) -> Tensor:
        super().write_kv(*self.given, cache, metadata)
        return super().forward(query, cache, metadata, sinks)


class PadsWithNullBlock(SlowAttention):
    def write_kv(self, key: Tensor, value: Tensor, cache: Tensor, metadata: AttentionBatch) -> None:
        super().write_kv(key, value, cache, metadata)
        cache[:, 0, 0] = 0


class MasksByAdding(SlowAttention):
    """Reads whole blocks and gives what lies behind the last token a weight of exp(-30)."""

    def forward(self, query: Tensor, cache: Tensor, metadata: AttentionBatch, sinks: Tensor | None = None) -> Tensor:
        result = super().forward(query, cache, metadata, sinks)
        size = self.spec.block_size
        for row, length in enumerate(metadata.seq_lens.tolist()):
            start, stop = metadata.query_start_loc[row : row + 2].tolist()
            behind = (
                cache[1][metadata.block_table[row, (length - 1) // size], length % size :] if length % size else None
            )
            if behind is not None:
                result[start:stop] += 0 * behind.sum()
        return result


class ReadsNullBlock(SlowAttention):
    def forward(self, query: Tensor, cache: Tensor, metadata: AttentionBatch, sinks: Tensor | None = None) -> Tensor:
        return super().forward(query, cache, metadata, sinks) + 1e-9 * cache[1, 0, 0, 0, 0].to(query.dtype)


class KeepsDropped(SlowAttention):
    """Remembers the first table of a step's row, and reads blocks that left the window through it."""

    def forward(self, query: Tensor, cache: Tensor, metadata: AttentionBatch, sinks: Tensor | None = None) -> Tensor:
        result = super().forward(query, cache, metadata, sinks)
        if self.spec.window is not None and (metadata.block_table[:, :1] == 0).any():
            result = result + 0 * cache[1, 1:, 0, 0, 0].sum()
        return result


class CopiesInTurn(SlowAttention):
    def copy_blocks(self, cache: Tensor, sources: Sequence[int], destinations: Sequence[int]) -> None:
        for source, destination in zip(sources, destinations, strict=True):
            cache[:, destination] = cache[:, source]


class Uninitialized(SlowAttention):
    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Tensor:
        return super().allocate_cache(spec, num_blocks, device).fill_(0.1)


class TooLarge(SlowAttention):
    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Tensor:
        return super().allocate_cache(spec, num_blocks + 1, device)


class OneCacheForAll(SlowAttention):
    cache: Tensor | None = None

    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Tensor:
        if self.cache is None:
            self.cache = super().allocate_cache(spec, num_blocks, device)
        return self.cache


class ScalesInPlace(SlowAttention):
    def forward(self, query: Tensor, cache: Tensor, metadata: AttentionBatch, sinks: Tensor | None = None) -> Tensor:
        result = super().forward(query, cache, metadata, sinks)
        query.mul_(self.spec.scale)
        return result


class OfItsLayer(SlowAttention):
    """Metadata holds the scale of the layer that built it."""

    def build_metadata(self, batch: AttentionBatch, device: Any) -> Any:
        return batch, self.spec

    def write_kv(self, key: Tensor, value: Tensor, cache: Tensor, metadata: Any) -> None:
        super().write_kv(key, value, cache, metadata[0])

    def forward(self, query: Tensor, cache: Tensor, metadata: Any, sinks: Tensor | None = None) -> Tensor:
        batch, spec = metadata
        other = SlowAttention(replace(self.spec, scale=spec.scale), self.settings)
        return other.forward(query, cache, batch, sinks)


class ChunksFromZero(SlowAttention):
    """Takes the first token of a later chunk of a prompt for the first of the prompt."""

    def attend(self, query: Tensor, key: Tensor, value: Tensor, sinks: Tensor | None) -> Tensor:
        if 1 < len(query) < len(key):
            key, value = key[-len(query) :], value[-len(query) :]
        return super().attend(query, key, value, sinks)


class OneSoftmax(SlowAttention):
    """Adds a rounding that depends on how many requests there are."""

    def forward(self, query: Tensor, cache: Tensor, metadata: AttentionBatch, sinks: Tensor | None = None) -> Tensor:
        result = super().forward(query, cache, metadata, sinks)
        count = len(metadata.seq_lens)
        return (result.double() * (count + 0.3) / (count + 0.3)).to(query.dtype) + (count - 1) * 2.0**-52


class Mixes(SlowAttention):
    """One sum over all rows."""

    def forward(self, query: Tensor, cache: Tensor, metadata: AttentionBatch, sinks: Tensor | None = None) -> Tensor:
        result = super().forward(query, cache, metadata, sinks)
        return result + 0 * result.sum()


class ShortSlots(SlowAttention):
    def build_metadata(self, batch: AttentionBatch, device: Any) -> AttentionBatch:
        return replace(batch, slot_mapping=batch.slot_mapping.astype(np.int16).astype(np.int64))


class MasksWithANumber(SlowAttention):
    """Takes -1e4 for minus infinity."""

    def attend(self, query: Tensor, key: Tensor, value: Tensor, sinks: Tensor | None) -> Tensor:
        group = self.spec.num_heads // self.spec.num_kv_heads
        wide = key.double().repeat_interleave(group, 1)
        scores = torch.einsum("qhd,khd->hqk", query.double(), wide) * self.spec.scale
        result = super().attend(query, key, value, sinks)
        later = torch.ones(len(query), len(key), dtype=torch.bool).triu(len(key) - len(query) + 1)
        if not later.any():
            return result
        behind = (scores + torch.where(later, -1e4, 0.0)).softmax(-1).masked_fill(~later, 0.0)
        return result + torch.einsum("hqk,khd->qhd", behind, value.double().repeat_interleave(group, 1))


class UsualScale(SlowAttention):
    def attend(self, query: Tensor, key: Tensor, value: Tensor, sinks: Tensor | None) -> Tensor:
        return attend(query, key, value, replace(self.spec, scale=self.spec.head_size**-0.5), sinks)


class EvenHeads(SlowAttention):
    def __init__(self, spec: AttentionSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        if spec.head_size % 8:
            raise ValueError("head sizes are multiples of 8")


class NeverEmpty(SlowAttention):
    def build_metadata(self, batch: AttentionBatch, device: Any) -> AttentionBatch:
        if not batch.seq_lens.max():
            raise ValueError("nothing to do")
        return batch


_PLANTED: tuple[tuple[str, type[Any], str], ...] = (
    ("is-no-attention", NotAttention, "is no Attention"),
    ("sees-one-token-more", WideWindow, "a token must see itself and the window - 1 tokens before it"),
    ("caps-before-it-scales", CapBeforeScale, "with a soft cap, scaled scores must become"),
    ("forgets-sinks", NoSinks, "sink must join the softmax's denominator"),
    ("interleaves-heads", InterleavedHeads, "query head h must use key and value head"),
    ("sums-in-16-bits", Narrow, "nothing may be computed below the input's dtype, bfloat16"),
    ("does-not-read-the-cache", FromTheStep, "forward() must read keys and values from the cache"),
    ("pads-with-the-null-block", PadsWithNullBlock, "it changed the null block"),
    ("lets-padding-show", ReadsNullBlock, "padding and dropped blocks are the null block"),
    ("multiplies-what-it-masks", MasksByAdding, "what an earlier owner left in a block must not show"),
    ("reads-dropped-blocks", KeepsDropped, "a block that left the window must not be read"),
    ("copies-blocks-in-turn", CopiesInTurn, "read every source before it writes any destination"),
    ("does-not-zero-its-cache", Uninitialized, "must return a cache that is zeroed"),
    ("takes-more-than-its-pages", TooLarge, "must take no more than num_blocks * page_bytes bytes"),
    ("shares-one-cache", OneCacheForAll, "must give each layer memory of its own"),
    ("changes-its-queries", ScalesInPlace, "queries, keys, values and sinks must not be changed"),
    ("builds-metadata-for-one-layer", OfItsLayer, "build_metadata() must not depend on the layer"),
    ("forgets-earlier-chunks", ChunksFromZero, "must not depend on how a prompt was cut into steps"),
    ("breaks-its-promise-of-bits", OneSoftmax, "it promises the same bits in every batch"),
    ("mixes-rows", Mixes, "NaN in one request's keys, values or queries must stay in its own rows"),
    ("offers-more-than-it-serves", EvenHeads, "the offer must name what it serves"),
    ("has-slots-of-16-bits", ShortSlots, "must be used to its end: its slots need more than 16 bits"),
    ("masks-with-a-number", MasksWithANumber, "what is masked must have no weight, of scores of -50000 too"),
    ("ignores-the-scale", UsualScale, "spec.scale must be used"),
    ("fails-without-tokens", NeverEmpty, "a step without tokens must work"),
)

FAULTS = tuple(
    Fault(name=name, suite=suite_of(attention, forms, kinds), says=says)
    for planted, forms, kinds in (
        *((_PLANTED, (), PLAIN), (RECORDED_PLANTED, (), PLAIN)),
        *((KEPT_PLANTED, FORMS, PLAIN), (EXCHANGE_PLANTED, FORMS, PLAIN)),
        *((LATENT_PLANTED, (), ("mla",)), (TREE_PLANTED, (), ("tree",))),
    )
    for name, attention, says in planted
)
