"""Attention, slow and obvious."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernelet.contracts.attention import Attention, AttentionBatch, AttentionSpec
from kernelet.contracts.cache import NULL_BLOCK, FullAttentionSpec, MLAAttentionSpec
from kernelet.contracts.graphs import CapturesDecode
from kernelet.contracts.kv_pages import KVRegion
from kernelet.contracts.offer import Settings

NO_SETTINGS = Settings(plugin="reference")


def attend(query: Tensor, key: Tensor, value: Tensor, spec: AttentionSpec, sinks: Tensor | None = None) -> Tensor:
    """Attention of the last tokens of a sequence, written out in float64.

    Args:
        query: [n, num_heads, head_size] of the last n tokens.
        key: [tokens, num_kv_heads, head_size]; tokens that no query sees may be left out at the beginning.
        value: [tokens, num_kv_heads, value_size].
        spec: Heads, scale, window and soft cap.
        sinks: [num_heads], a logit more in each denominator.

    Returns:
        float64 [n, num_heads, value_size].
    """
    group = spec.num_heads // spec.num_kv_heads
    key, value = (part.double().repeat_interleave(group, 1) for part in (key, value))
    scores = torch.einsum("qhd,khd->hqk", query.double(), key) * spec.scale
    if spec.soft_cap is not None:
        scores = spec.soft_cap * torch.tanh(scores / spec.soft_cap)
    position = torch.arange(len(key) - len(query), len(key), device=query.device)[:, None]
    distance = position - torch.arange(len(key), device=query.device)
    seen = distance >= 0
    if spec.window is not None:
        seen &= distance < spec.window
    scores = scores.masked_fill(~seen, -torch.inf)
    if sinks is not None:
        column = sinks.double()[:, None, None].expand(-1, len(query), 1)
        scores = torch.cat((scores, column), -1)
    weights = scores.softmax(-1)[..., : len(key)]
    return torch.einsum("hqk,khd->qhd", weights, value)


def attend_tree(
    query: Tensor, key: Tensor, value: Tensor, masks: Sequence[int], spec: AttentionSpec, sinks: Tensor | None = None
) -> Tensor:
    """Attention of a draft tree, token by token: each is the last one of the branch that it is on.

    Args:
        query: [n, num_heads, head_size] of the tree.
        key: [tokens, num_kv_heads, head_size], those of the tree at the end.
        value: [tokens, num_kv_heads, value_size].
        masks: Of each token, see ``AttentionBatch.tree_masks``.
        spec: See ``attend``, as for the next.
        sinks: See there.

    Returns:
        float64 [n, num_heads, value_size].
    """
    before = len(key) - len(query)
    found = []
    for token, mask in enumerate(masks):
        branch = [*range(before), *(before + other for other in range(len(query)) if mask >> other & 1)]
        found.append(attend(query[token : token + 1], key[branch], value[branch], spec, sinks))
    return torch.cat(found)


def num_vectors(spec: FullAttentionSpec) -> int:
    """How many a cache holds of each token and key head: key and value, or the one that a latent layer has."""
    return 1 if isinstance(spec, MLAAttentionSpec) else 2


def tree_of(batch: AttentionBatch, row: int) -> list[int]:
    """Masks of the draft tree of a request, as whole numbers of 64 bits; empty: it has none."""
    if batch.tree_sizes is None or batch.tree_masks is None:
        return []
    stop = int(batch.query_start_loc[row + 1])
    return [int(mask) % (1 << 64) for mask in batch.tree_masks[stop - int(batch.tree_sizes[row]) : stop]]


class RecordedBatch(AttentionBatch):
    """Metadata of decode steps: arrays that stay where they are. Rows whose slot is 0 are nobody's."""


class SlowAttention(Attention, CapturesDecode):
    """Gathers what the queries of one request see, block by block, and attends; then the next request.

    Raises:
        ValueError: a token would be written to the null block, or a dropped block read.
    """

    def __init__(self, spec: AttentionSpec, settings: Settings = NO_SETTINGS) -> None:
        super().__init__(spec, settings)

    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Tensor:
        """[key or value, block, token, num_kv_heads, head_size]; there is only the key of a latent layer."""
        shape = (num_vectors(spec), num_blocks, spec.block_size, spec.num_kv_heads, spec.head_size)
        return torch.zeros(shape, dtype=getattr(torch, spec.dtype), device=device)

    def copy_blocks(self, cache: Tensor, sources: Sequence[int], destinations: Sequence[int]) -> None:
        cache[:, list(destinations)] = cache[:, list(sources)].clone()

    def export_pages(self, cache: Tensor, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        return tuple(part[self.where(block_ids, start, end)] for part in cache)

    def import_pages(self, cache: Tensor, block_ids: Sequence[int], start: int, parts: Sequence[Tensor]) -> None:
        for into, part in zip(cache, parts, strict=True):
            into[self.where(block_ids, start, start + len(part))] = part

    def where(self, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, Tensor]:
        """Block and offset of each of a request's tokens."""
        positions = torch.arange(start, end)
        return torch.tensor(block_ids)[positions // self.spec.block_size], positions % self.spec.block_size

    def native_layout(self) -> str:
        return f"slow [key, value][block][token][kv_head][size] {self.spec.cache_parts} {self.page_shape}"

    @property
    def page_shape(self) -> tuple[int, int, int]:
        """Tokens, heads, size."""
        return self.spec.block_size, self.spec.num_kv_heads, self.spec.head_size

    def regions(self, cache: Tensor) -> tuple[KVRegion, ...]:
        return tuple(
            KVRegion(address=part.data_ptr(), block_bytes=part[0].nbytes, num_blocks=len(part), device=str(part.device))
            for part in cache
        )

    def build_metadata(self, batch: AttentionBatch, device: Any) -> AttentionBatch:
        return batch

    def decode_metadata(self, num_requests: int, num_blocks: int, device: Any) -> RecordedBatch:
        return RecordedBatch(
            query_start_loc=np.arange(num_requests + 1, dtype=np.int32),
            seq_lens=np.ones(num_requests, dtype=np.int32),
            block_table=np.zeros((num_requests, num_blocks), dtype=np.int32),
            slot_mapping=np.zeros(num_requests, dtype=np.int64),
        )

    def refill(self, metadata: RecordedBatch, batch: AttentionBatch) -> None:
        metadata.seq_lens[:] = batch.seq_lens
        metadata.block_table[:] = batch.block_table
        metadata.slot_mapping[:] = batch.slot_mapping

    def write_kv(self, key: Tensor, value: Tensor, cache: Tensor, metadata: AttentionBatch) -> None:
        rows, blocks, offsets = self.slots(metadata)
        for into, vectors in zip(cache, (key, value), strict=False):
            into[blocks, offsets] = vectors[rows]

    def slots(self, metadata: AttentionBatch) -> tuple[Any, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Rows of the step that are somebody's; block and offset of each."""
        slots = metadata.slot_mapping
        rows = np.flatnonzero(slots) if isinstance(metadata, RecordedBatch) else slice(None)
        blocks, offsets = np.divmod(slots[rows], self.spec.block_size)
        if (blocks == NULL_BLOCK).any():
            raise ValueError("a slot of this step is in the null block")
        return rows, blocks, offsets

    def forward(self, query: Tensor, cache: Tensor, metadata: AttentionBatch, sinks: Tensor | None = None) -> Tensor:
        result = query.new_zeros(*query.shape[:2], self.spec.value_size)
        for row, length in enumerate(metadata.seq_lens.tolist()):
            if isinstance(metadata, RecordedBatch) and not metadata.slot_mapping[row]:
                continue
            start, stop = metadata.query_start_loc[row : row + 2].tolist()
            key, value = self.seen(cache, metadata.block_table[row], length, stop - start)
            value, tree = value[..., : self.spec.value_size], tree_of(metadata, row)
            end, middle = len(key) - len(tree), stop - len(tree)
            if middle > start:
                result[start:middle] = self.attend(query[start:middle], key[:end], value[:end], sinks)
            if tree:
                result[middle:stop] = self.attend_tree(query[middle:stop], key, value, tree, sinks)
        return result

    def attend(self, query: Tensor, key: Tensor, value: Tensor, sinks: Tensor | None) -> Tensor:
        """One request's queries over what they see."""
        return attend(query, key, value, self.spec, sinks)

    def attend_tree(
        self, query: Tensor, key: Tensor, value: Tensor, masks: Sequence[int], sinks: Tensor | None
    ) -> Tensor:
        """One request's draft tree, over the same."""
        return attend_tree(query, key, value, masks, self.spec, sinks)

    def seen(self, cache: Tensor, table: np.ndarray[Any, Any], length: int, queries: int) -> tuple[Tensor, Tensor]:
        """Keys and values that the last queries of a request see."""
        window = self.spec.window
        first = 0 if window is None else max(0, length - queries - window + 1)
        blocks, offsets = np.divmod(np.arange(first, length), self.spec.block_size)
        if (table[blocks] == NULL_BLOCK).any():
            raise ValueError("a token that this step sees is in the null block")
        return cache[0][table[blocks], offsets], cache[-1][table[blocks], offsets]
