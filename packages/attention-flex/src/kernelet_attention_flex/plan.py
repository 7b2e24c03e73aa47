"""A step as one cache group sees it: requests alike in tokens and keys are one batch of ``flex_attention``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.cache import NULL_BLOCK

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Group:
    """Requests of one batch.

    Attributes:
        tokens: int64 [requests, tokens], which of the step's tokens they are.
        slots: int64 [requests, keys], where the keys that they see are; of the null block behind the last one.
        mask: Which key each token sees.
    """

    tokens: Tensor
    slots: Tensor
    mask: BlockMask


@dataclass(frozen=True, kw_only=True)
class StepMetadata:
    """What layers of a group share.

    Attributes:
        slots: int64 [tokens], where keys and values go.
        groups: All requests that have tokens.
    """

    slots: Tensor
    groups: tuple[Group, ...]


def plan_step(batch: AttentionBatch, spec: AttentionSpec, device: torch.device, *, blocks: bool) -> StepMetadata:
    """Groups of a step; only keys that some token sees are in their slots.

    Args:
        batch: The step.
        spec: Of a layer of the cache group.
        device: Where tensors live.
        blocks: Masks say which blocks nobody sees.
    """
    counts = np.diff(batch.query_start_loc).astype(np.int64)
    lengths = batch.seq_lens.astype(np.int64)
    seen = lengths if spec.window is None else np.minimum(lengths, counts + spec.window - 1)
    _, sizes = np.frexp(seen.astype(np.float64))  # powers of two: at most half of the keys is padding
    kinds = np.unique(np.stack((counts, sizes), 1)[counts > 0], axis=0)
    groups = tuple(
        _group(batch, spec, rows, int(count), seen[rows], device, blocks=blocks)
        for count, size in kinds
        for rows in [np.flatnonzero((counts == count) & (sizes == size))]
    )
    return StepMetadata(slots=torch.from_numpy(batch.slot_mapping).to(device), groups=groups)


def _group(
    batch: AttentionBatch,
    spec: AttentionSpec,
    rows: Ints,
    count: int,
    seen: Ints,
    device: torch.device,
    *,
    blocks: bool,
) -> Group:
    """Of requests ``rows``, each with ``count`` tokens, which see ``seen`` keys."""
    lengths = batch.seq_lens[rows].astype(np.int64)
    first = lengths - seen
    positions = first[:, None] + np.arange(seen.max())
    inside = positions < lengths[:, None]
    pages, offsets = np.divmod(np.where(inside, positions, 0), spec.block_size)
    table = batch.block_table[rows].astype(np.int64)
    slots = np.take_along_axis(table, pages, 1) * spec.block_size + offsets
    # what an earlier owner left behind the last token is masked, but 0 * NaN is NaN; the null block is finite
    slots = np.where(inside, slots, NULL_BLOCK * spec.block_size)
    tokens = batch.query_start_loc[rows].astype(np.int64)[:, None] + np.arange(count)
    return Group(
        tokens=torch.from_numpy(tokens).to(device),
        slots=torch.from_numpy(slots).to(device),
        mask=_mask(lengths - first - count, positions.shape, count, spec.window, device, blocks=blocks),
    )


def _mask(
    before: Ints, shape: tuple[int, ...], count: int, window: int | None, device: torch.device, *, blocks: bool
) -> BlockMask:
    """Causal, and within a window.

    Args:
        before: Keys before the first token of each request.
        shape: Requests and keys.
        count: Tokens of each request.
        window: None: all before.
        device: Of the mask.
        blocks: Say which blocks nobody sees, so that a kernel leaves them out; else all is one block.
    """
    offset = torch.from_numpy(before).to(device)
    limit = shape[-1] if window is None else window

    def seen(row: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        distance = offset[row] + query - key
        return (distance >= 0) & (distance < limit)

    requests, keys = shape
    if blocks:
        return create_block_mask(seen, requests, None, count, keys, device=device)
    zeros = torch.zeros(1, 1, 1, 1, dtype=torch.int32, device=device)
    return BlockMask.from_kv_blocks(
        zeros[..., 0] + 1, zeros, BLOCK_SIZE=(count, keys), mask_mod=seen, seq_lengths=(count, keys)
    )
