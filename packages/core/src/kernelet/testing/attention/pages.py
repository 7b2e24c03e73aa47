"""Which elements of a cache belong to which block, whatever order an implementation keeps them in."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernelet.contracts.attention import Attention, AttentionBatch
from kernelet.contracts.cache import NULL_BLOCK, FullAttentionSpec
from kernelet.testing.verdict import check


def tensors_of(cache: Any) -> Iterator[Tensor]:
    """The tensors of a cache: itself, or those in its tuples, lists, dictionaries, dataclasses and attributes."""
    if isinstance(cache, Tensor):
        yield cache
    elif isinstance(cache, Mapping):
        for value in cache.values():
            yield from tensors_of(value)
    elif isinstance(cache, Sequence) and not isinstance(cache, str | bytes):
        for value in cache:
            yield from tensors_of(value)
    elif dataclasses.is_dataclass(cache):
        for field in dataclasses.fields(cache):
            yield from tensors_of(getattr(cache, field.name))
    elif hasattr(cache, "__dict__"):
        yield from tensors_of(vars(cache))


def storages_of(cache: Any) -> list[Tensor]:
    """The memory of a cache, each piece once, as flat tensors that share it."""
    found: dict[int, Tensor] = {}
    for tensor in tensors_of(cache):
        storage = tensor.untyped_storage()
        flat = torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(storage)
        found.setdefault(storage.data_ptr(), flat)
    return list(found.values())


class Pages:
    """The blocks of a fresh cache, found by writing to some of them; all of it is zero afterwards.

    Args:
        attention: What allocated the cache.
        cache: At least four blocks.
        spec: Of the cache.
        num_blocks: Blocks of the cache.
        device: What ``torch.device`` takes.

    Raises:
        ConformanceError: keys and values of one block are stored elsewhere, or not at all.
        NotImplementedError: the cache is not made of tensors in which blocks lie at a constant distance.
    """

    def __init__(self, attention: Attention, cache: Any, spec: FullAttentionSpec, num_blocks: int, device: Any) -> None:
        self._flats = storages_of(cache)
        if not self._flats:
            raise NotImplementedError("the kit finds no tensor in the cache: it cannot say what belongs to which block")
        first, second, last = (self._written(attention, cache, spec, block, device) for block in (1, 2, num_blocks - 1))
        stored = sum(len(indices) for indices in first)
        needed = 2 * spec.block_size * spec.num_kv_heads * spec.head_size
        check(
            stored >= needed, "write_kv() must store each key and value of its tokens in the cache, at the step's slots"
        )
        self._first = first
        self._distance = [int(b[0] - a[0]) if len(a) else 0 for a, b in zip(first, second, strict=True)]
        for a, b, c, distance in zip(first, second, last, self._distance, strict=True):
            if not torch.equal(a + distance, b) or not torch.equal(a + (num_blocks - 2) * distance, c):
                raise NotImplementedError("blocks do not lie at a constant distance: the kit does not know their order")

    def _written(
        self, attention: Attention, cache: Any, spec: FullAttentionSpec, block: int, device: Any
    ) -> list[Tensor]:
        size = spec.block_size
        batch = AttentionBatch(
            query_start_loc=np.array([0, size], dtype=np.int32),
            seq_lens=np.array([size], dtype=np.int32),
            block_table=np.array([[block]], dtype=np.int32),
            slot_mapping=np.arange(size, dtype=np.int64) + block * size,
        )
        ones = torch.ones(size, spec.num_kv_heads, spec.head_size, dtype=getattr(torch, spec.dtype), device=device)
        attention.write_kv(ones, ones.clone(), cache, attention.build_metadata(batch, device))
        found = [flat.nonzero().flatten() for flat in self._flats]
        for flat in self._flats:
            flat.zero_()
        return found

    def _indices(self, block: int) -> Iterator[tuple[Tensor, Tensor]]:
        for flat, first, distance in zip(self._flats, self._first, self._distance, strict=True):
            indices = first + (block - 1) * distance
            if len(indices) and int(indices[0]) >= 0:  # else it keeps no null block
                yield flat, indices

    def read(self, block: int) -> Tensor:
        """A copy of all that a block holds; empty for a null block that is not kept."""
        parts = [flat[indices] for flat, indices in self._indices(block)]
        return torch.cat(parts) if parts else torch.empty(0)

    def fill(self, block: int, value: float) -> None:
        """Writes one value everywhere in a block."""
        for flat, indices in self._indices(block):
            flat[indices] = value

    def copy(self, source: int, destination: int) -> None:
        """Copies a block."""
        for (flat, source_indices), (_, indices) in zip(self._indices(source), self._indices(destination), strict=True):
            flat[indices] = flat[source_indices]

    def fill_all(self, num_blocks: int, value: float, null: float = 0.0) -> None:
        """Writes one value to all blocks but the null block, and another to that."""
        for flat, first, distance in zip(self._flats, self._first, self._distance, strict=True):
            steps = torch.arange(num_blocks - 1, device=first.device) * distance
            flat[(first + steps[:, None]).flatten()] = value
        self.fill(NULL_BLOCK, null)
