"""Which elements of a cache belong to which block, whatever order an implementation keeps them in."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernelet.contracts.attention import Attention, AttentionBatch
from kernelet.contracts.cache import NULL_BLOCK, FullAttentionSpec
from kernelet.testing.attention.reference import num_vectors
from kernelet.testing.verdict import check

BYTES_SHOW = (1.0, 0.37, 0.77, 1.3)
"""Numbers of which each byte of what is stored is different from zero, whatever that is, of one at least."""


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
        dtype: Of keys and values; empty: that of the cache. What belongs to a block of another dtype is bytes.

    Raises:
        ConformanceError: keys and values of one block are stored elsewhere, or not at all.
        NotImplementedError: the cache is not made of tensors in which blocks lie at a constant distance.
    """

    def __init__(
        self,
        attention: Attention,
        cache: Any,
        spec: FullAttentionSpec,
        num_blocks: int,
        device: Any,
        dtype: str = "",
    ) -> None:
        self._is_bytes = dtype not in {"", spec.dtype}
        self._dtype = dtype or spec.dtype
        self._attention, self._cache, self._spec, self._device = attention, cache, spec, device
        self._flats = [flat.view(torch.uint8) if self._is_bytes else flat for flat in storages_of(cache)]
        if not self._flats:
            raise NotImplementedError("the kit finds no tensor in the cache: it cannot say what belongs to which block")
        first, second, last = (self._written(block) for block in (1, 2, num_blocks - 1))
        stored = sum(len(indices) for indices in first)
        needed = num_vectors(spec) * spec.block_size * spec.num_kv_heads * spec.head_size
        check(
            stored >= needed, "write_kv() must store each key and value of its tokens in the cache, at the step's slots"
        )
        self._first = first
        self._distance = [int(b[0] - a[0]) if len(a) else 0 for a, b in zip(first, second, strict=True)]
        for a, b, c, distance in zip(first, second, last, self._distance, strict=True):
            if not torch.equal(a + distance, b) or not torch.equal(a + (num_blocks - 2) * distance, c):
                raise NotImplementedError("blocks do not lie at a constant distance: the kit does not know their order")

    def _written(self, block: int) -> list[Tensor]:
        """What a block is made of; a byte of a number may be zero, so that bytes need several numbers."""
        found = [torch.zeros(len(flat), dtype=torch.bool, device=flat.device) for flat in self._flats]
        for value in BYTES_SHOW if self._is_bytes else (1.0,):
            self._write(block, value)
            found = [mask | (flat != 0) for mask, flat in zip(found, self._flats, strict=True)]
            for flat in self._flats:
                flat.zero_()
        return [mask.nonzero().flatten() for mask in found]

    def _write(self, block: int, value: float) -> None:
        """One value in all of a block."""
        spec, size = self._spec, self._spec.block_size
        batch = AttentionBatch(
            query_start_loc=np.array([0, size], dtype=np.int32),
            seq_lens=np.array([size], dtype=np.int32),
            block_table=np.array([[block]], dtype=np.int32),
            slot_mapping=np.arange(size, dtype=np.int64) + block * size,
        )
        shape = (size, spec.num_kv_heads, spec.head_size)
        values = torch.full(shape, value, dtype=getattr(torch, self._dtype), device=self._device)
        metadata = self._attention.build_metadata(batch, self._device)
        narrow = values[..., : self._attention.spec.value_size].clone()
        self._attention.write_kv(values, narrow, self._cache, metadata)

    def _content(self, value: float) -> list[Tensor | float]:
        """What a block that holds one value everywhere is made of, for each piece of memory."""
        if not self._is_bytes:
            return [value] * len(self._flats)
        if math.isnan(value):
            return [255] * len(self._flats)  # NaN in every dtype that has one, and float32 scales of it
        held = [flat[first] for flat, first in zip(self._flats, self._first, strict=True)]
        self._write(1, value)
        found: list[Tensor | float] = []
        for flat, first, before in zip(self._flats, self._first, held, strict=True):
            found.append(flat[first])
            flat[first] = before
        return found

    def _indices(self, block: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Of each piece of memory; none of a null block that is not kept."""
        for flat, first, distance in zip(self._flats, self._first, self._distance, strict=True):
            indices = first + (block - 1) * distance
            yield flat, indices if len(indices) and int(indices[0]) >= 0 else indices[:0]

    def read(self, block: int) -> Tensor:
        """A copy of all that a block holds; empty for a null block that is not kept."""
        return torch.cat([flat[indices] for flat, indices in self._indices(block)])

    def fill(self, block: int, value: float) -> None:
        """Writes one value everywhere in a block."""
        for (flat, indices), content in zip(self._indices(block), self._content(value), strict=True):
            if len(indices):
                flat[indices] = content

    def copy(self, source: int, destination: int) -> None:
        """Copies a block."""
        for (flat, source_indices), (_, indices) in zip(self._indices(source), self._indices(destination), strict=True):
            flat[indices] = flat[source_indices]

    def fill_all(self, num_blocks: int, value: float, null: float = 0.0) -> None:
        """Writes one value to all blocks but the null block, and another to that."""
        places = zip(self._flats, self._first, self._distance, self._content(value), strict=True)
        for flat, first, distance, content in places:
            steps = torch.arange(num_blocks - 1, device=first.device) * distance
            flat[first + steps[:, None]] = content
        self.fill(NULL_BLOCK, null)
