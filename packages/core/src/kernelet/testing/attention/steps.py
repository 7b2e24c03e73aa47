"""Random requests, step by step, over the cache of one layer; with what each step's attention must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernelet.contracts.attention import Attention, AttentionBatch, AttentionOffer, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec, MLAAttentionSpec, SlidingWindowSpec
from kernelet.testing.attention.kept import SCALES, kept
from kernelet.testing.attention.pages import Pages
from kernelet.testing.attention.reference import attend, attend_tree, tree_of
from kernelet.testing.attention.trees import Parents, masks_of
from kernelet.testing.offered import Offered
from kernelet.testing.tensors import check_close
from kernelet.testing.verdict import check

Counts = Mapping[str, int]
"""Tokens of each request in a step."""


def cache_spec_of(spec: AttentionSpec) -> FullAttentionSpec:
    """What a layer with that spec keeps, as ``kernelet.layers`` states it."""
    values = {"block_size": spec.block_size, "num_kv_heads": spec.num_kv_heads, "head_size": spec.head_size}
    rows = (1 if spec.kv_lora_rank else 2) * spec.block_size * spec.num_kv_heads
    itemsize = 1 if spec.cache_dtype else getattr(torch, spec.dtype).itemsize
    page_bytes = rows * (spec.head_size * itemsize + (4 if spec.cache_scales == "token_head" else 0))
    dtype = spec.cache_dtype or spec.dtype
    if spec.kv_lora_rank:
        return MLAAttentionSpec(**values, page_bytes=page_bytes, dtype=dtype, kv_lora_rank=spec.kv_lora_rank)
    if spec.window is None:
        return FullAttentionSpec(**values, page_bytes=page_bytes, dtype=dtype)
    return SlidingWindowSpec(**values, page_bytes=page_bytes, dtype=dtype, window=spec.window)


def make_attention(offered: Offered[AttentionOffer], spec: AttentionSpec) -> Attention:
    """An instance for one layer, as the engine makes it.

    Raises:
        ConformanceError: it is no ``Attention``.
    """
    made = offered.target(spec, offered.settings)
    check(isinstance(made, Attention), f"{offered.offer.target} is no Attention: derive it from the contract's class")
    assert isinstance(made, Attention)
    return made


@dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """One step before it runs.

    Attributes:
        counts: Tokens of each request, those of its tree included, in the order of the batch.
        batch: The step as the cache group sees it.
        query: [tokens, num_heads, head_size], a view into one tensor with key and value, as models have it.
        key: [tokens, num_kv_heads, head_size].
        value: [tokens, num_kv_heads, value_size].
    """

    counts: Mapping[str, int]
    batch: AttentionBatch
    query: Tensor
    key: Tensor
    value: Tensor

    def rows(self, name: str) -> slice:
        """Where a request's tokens are."""
        row = list(self.counts).index(name)
        start, stop = self.batch.query_start_loc[row : row + 2].tolist()
        return slice(start, stop)


class PagedRequests:
    """Requests of random content that share the cache of one layer; blocks are given out in random order.

    Blocks hold ``left_behind`` before they are given out, as if of an earlier owner, and the null block ``null``. What
    left the window is dropped: the block goes back, is overwritten with NaN, and its entry becomes the null block. The
    tokens of a draft tree are all rejected: what the request computes next takes their slots.

    Args:
        offered: The attention.
        spec: What the layer asks.
        device: What ``torch.device`` takes.
        seed: Of all random content; a request's tokens depend on its name and position only.
        num_blocks: Blocks of the cache.
        left_behind: What earlier owners left.
        null: What the null block holds; anything finite is allowed.
        padding: Further columns of each block table.
        scales: Of keys and of values, where the layer's cache has scales of a tensor.
    """

    def __init__(
        self,
        offered: Offered[AttentionOffer],
        spec: AttentionSpec,
        device: Any,
        *,
        seed: int = 0,
        num_blocks: int = 64,
        left_behind: float = 2.0,
        null: float = 30.0,
        padding: int = 0,
        scales: tuple[float, float] = SCALES,
    ) -> None:
        self.spec = spec
        self.device = torch.device(device)
        self.dtype: torch.dtype = getattr(torch, spec.dtype)
        self.attention = make_attention(offered, spec)
        self.scales = scales
        if spec.cache_scales == "tensor":
            self.attention.set_cache_scales(*scales)
        self.cache = self.attention.allocate_cache(cache_spec_of(spec), num_blocks, self.device)
        self.pages = Pages(self.attention, self.cache, cache_spec_of(spec), num_blocks, self.device, spec.dtype)
        self.pages.fill_all(num_blocks, left_behind, null)
        self.free = np.random.default_rng(seed).permutation(np.arange(1, num_blocks)).tolist()
        self.tables: dict[str, list[int]] = {}
        self.seed = seed
        self.padding = padding
        self.keys: dict[str, Tensor] = {}
        self.values: dict[str, Tensor] = {}
        self.drafted: dict[str, int] = {}
        self.sinks = self._draw("sinks", spec.num_heads) if spec.sinks else None

    def _draw(self, what: str, *shape: int) -> Tensor:
        generator = np.random.default_rng([self.seed, *what.encode()])
        return torch.from_numpy(generator.standard_normal(shape)).to(self.dtype).to(self.device)

    def length(self, name: str) -> int:
        """Tokens of a request so far, but for its last tree."""
        return len(self.keys[name]) - self.drafted.get(name, 0) if name in self.keys else 0

    def plan(self, counts: Mapping[str, int], trees: Mapping[str, Parents] | None = None) -> PlannedStep:
        """Gives out blocks and draws the tokens of the next step.

        Args:
            counts: Tokens of each request.
            trees: Draft trees that some of them have in addition; None: the step cannot have any.
        """
        size = self.spec.block_size
        fused, slots, lengths = [], [], []
        for name, given in counts.items():
            tree, start = len((trees or {}).get(name, ())), self.length(name)
            count = given + tree
            tokens = torch.cat((self._tokens(name, start, given), self._tokens(f"{name}/tree at {start}", 0, tree)))
            fused.append(tokens)
            self._take(name, tokens, start)
            self.drafted[name] = tree
            table = self._table(name, start + count, start)
            positions = np.arange(start, start + count)
            slots.append(np.array(table, dtype=np.int64)[positions // size] * size + positions % size)
            lengths.append(start + count)
        fused.append(self._tokens("", 0, 0))
        sizes = np.array([len((trees or {}).get(name, ())) for name in counts], dtype=np.int32)
        counts = {name: given + int(tree) for (name, given), tree in zip(counts.items(), sizes, strict=True)}
        width = max((len(self.tables[name]) for name in counts), default=0) + self.padding
        rows = [self.tables[name] + [0] * (width - len(self.tables[name])) for name in counts]
        query, key, value = self._split(torch.cat(fused))
        batch = AttentionBatch(
            query_start_loc=np.cumsum([0, *counts.values()], dtype=np.int32),
            seq_lens=np.array(lengths, dtype=np.int32),
            block_table=np.array(rows, dtype=np.int32).reshape(len(counts), width),
            slot_mapping=np.concatenate([*slots, np.zeros(0, dtype=np.int64)]),
            tree_sizes=None if trees is None else sizes,
            tree_masks=None if trees is None else self._masks(counts, trees),
        )
        return PlannedStep(counts=dict(counts), batch=batch, query=query, key=key, value=value)

    def _tokens(self, name: str, start: int, count: int) -> Tensor:
        """Query, key and value heads of some tokens, in one tensor."""
        shape = (self.spec.num_heads + 2 * self.spec.num_kv_heads, self.spec.head_size)
        drawn = [self._draw(f"{name}/{position}", *shape) for position in range(start, start + count)]
        return torch.stack(drawn) if drawn else torch.empty(0, *shape, dtype=self.dtype, device=self.device)

    @staticmethod
    def _masks(counts: Mapping[str, int], trees: Mapping[str, Parents]) -> NDArray[np.int64]:
        """Of all tokens; those that are in no tree have all bits."""
        masks = np.full(sum(counts.values()), -1, dtype=np.int64)
        for name, stop in zip(counts, np.cumsum([*counts.values()]).tolist(), strict=True):
            parents = trees.get(name, ())
            masks[stop - len(parents) : stop] = masks_of(parents)
        return masks

    def _split(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Views of queries, keys and values; a latent layer's value is the beginning of its key."""
        heads, kv_heads, rank = self.spec.num_heads, self.spec.num_kv_heads, self.spec.kv_lora_rank
        query, key, value = tokens.split((heads, kv_heads, kv_heads), 1)
        return query, key, key[..., :rank] if rank else value

    def _take(self, name: str, tokens: Tensor, start: int) -> None:
        """Keeps the tokens from there on, in place of a tree."""
        _, key, value = self._split(tokens)
        for held, part in ((self.keys, key), (self.values, value)):
            held[name] = torch.cat((held[name][:start], part)) if name in held else part.clone()

    def _table(self, name: str, length: int, computed: int) -> list[int]:
        table, size = self.tables.setdefault(name, []), self.spec.block_size
        if self.spec.window is not None:
            for index in range(max(0, computed - self.spec.window + 1) // size):
                if index < len(table) and table[index]:
                    self.pages.fill(table[index], torch.nan)
                    self.free.insert(0, table[index])
                    table[index] = 0
        while len(table) * size < length:
            table.append(self.free.pop())
        return table

    def run(self, step: PlannedStep) -> Tensor:
        """Writes and attends."""
        metadata = self.attention.build_metadata(step.batch, self.device)
        self.attention.write_kv(step.key, step.value, self.cache, metadata)
        return self.attention.forward(step.query, self.cache, metadata, self.sinks)

    def expected(self, step: PlannedStep) -> Tensor:
        """float64 on the CPU: the attention of every token of the step over its own request, from scratch."""
        sinks = None if self.sinks is None else self.sinks.cpu()
        parts = [torch.empty(0, self.spec.num_heads, self.spec.value_size, dtype=torch.float64)]
        for row, (name, length) in enumerate(zip(step.counts, step.batch.seq_lens.tolist(), strict=True)):
            query, masks = step.query[step.rows(name)].cpu(), tree_of(step.batch, row)
            end, key, value = length - len(masks), *self.cached(name, length)
            plain = len(query) - len(masks)
            parts.append(attend(query[:plain], key[:end], value[:end], self.spec, sinks))
            if masks:
                parts.append(attend_tree(query[plain:], key, value, masks, self.spec, sinks))
        return torch.cat(parts)

    def cached(self, name: str, length: int) -> tuple[Tensor, Tensor]:
        """float64 on the CPU: what the cache must give back of a request's first keys and values."""
        key = kept(self.keys[name][:length].cpu(), self.spec, self.scales[0])
        if self.spec.kv_lora_rank:
            return key, key[..., : self.spec.kv_lora_rank]
        return key, kept(self.values[name][:length].cpu(), self.spec, self.scales[1])

    def step(self, counts: Mapping[str, int], trees: Mapping[str, Parents] | None = None) -> tuple[Tensor, Tensor]:
        """One step: what came out, and what had to."""
        planned = self.plan(counts, trees)
        return self.run(planned), self.expected(planned)


Requests = Callable[..., PagedRequests]
"""Makes requests over the cache of a layer: a spec, and options of ``PagedRequests``."""


def hold(mine: PagedRequests, steps: Sequence[Counts], tolerance: float, says: str) -> None:
    """Holds steps to the reference.

    Raises:
        ConformanceError: with the sentence.
    """
    for counts in steps:
        check_close(*mine.step(counts), tolerance, says)


def play(requests: PagedRequests, steps: Sequence[Mapping[str, int]]) -> dict[str, Tensor]:
    """Runs steps; the results of each request in the order of its tokens."""
    found: dict[str, list[Tensor]] = {}
    for counts in steps:
        planned = requests.plan(counts)
        result = requests.run(planned)
        for name in counts:
            found.setdefault(name, []).append(result[planned.rows(name)])
    return {name: torch.cat(parts) for name, parts in found.items()}
