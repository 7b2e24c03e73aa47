"""Pages of one rank as plain tensors, for connectors without an engine."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from kernelet.contracts.cache import NULL_BLOCK
from kernelet.contracts.kv import KVLayout, KVPart, KVRegion

NATIVE = "plain"
"""What its layouts call their order, unless told otherwise: [block, token, head, width]."""


def plain_layout(
    *,
    num_layers: int = 2,
    block_size: int = 4,
    num_blocks: int = 32,
    num_kv_heads: int = 2,
    head_size: int = 8,
    dtype: str = "float32",
    scales: str = "",
    group: int = 0,
    window: int | None = None,
    native: str = NATIVE,
    rank: int = 0,
    world_size: int = 1,
) -> KVLayout:
    """A layout with keys and values, and scales of that dtype if it is named."""
    parts = [KVPart(name=name, dtype=dtype, width=head_size) for name in ("key", "value")]
    if scales:
        parts += [KVPart(name=name, dtype=scales, width=1) for name in ("key_scale", "value_scale")]
    return KVLayout(
        group=group,
        layers=tuple(f"layers.{group * num_layers + index}" for index in range(num_layers)),
        block_size=block_size,
        num_blocks=num_blocks,
        num_kv_heads=num_kv_heads,
        parts=tuple(parts),
        window=window,
        native=native,
        rank=rank,
        world_size=world_size,
    )


class PlainPages:
    """``KVPages`` whose ``tensors`` have, for each layer, one tensor a part: [block, token, head, width].

    Transfers may write until ``close`` names them.

    Attributes:
        refused: Transfers that wrote after they were closed, one entry a call.
    """

    def __init__(self, layouts: Sequence[KVLayout]) -> None:
        self._layouts = tuple(layouts)
        self._group_of = {layer: layout for layout in layouts for layer in layout.layers}
        self.tensors = {layer: tuple(_zeros(layout)) for layer, layout in self._group_of.items()}
        self.refused: list[int] = []
        self._closed: set[int] = set()
        self._writes = 0
        self._lock = threading.Lock()

    @property
    def layouts(self) -> tuple[KVLayout, ...]:
        return self._layouts

    def close(self, transfers: Collection[int]) -> None:
        """The core's half of the fence: these transfers are over and write no more."""
        with self._lock:
            self._closed.update(transfers)

    def read(self, layer: str, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        blocks, offsets = self._slots(layer, block_ids, start, end)
        with self._lock:
            return tuple(part[blocks, offsets].clone() for part in self.tensors[layer])

    def write(self, transfer: int, layer: str, block_ids: Sequence[int], start: int, parts: Sequence[Tensor]) -> bool:
        layout = self._group_of[layer]
        if len(parts) != len(layout.parts):
            raise ValueError(f"{layer} has {len(layout.parts)} parts, {len(parts)} were given")
        for part, given in zip(layout.parts, parts, strict=True):
            wanted = (len(parts[0]), layout.num_kv_heads, part.width)
            if tuple(given.shape) != wanted or given.dtype != getattr(torch, part.dtype):
                raise ValueError(
                    f"{part.name} of {layer} is {part.dtype}{list(wanted)}, given was {given.dtype}{list(given.shape)}"
                )
        blocks, offsets = self._slots(layer, block_ids, start, start + len(parts[0]))
        with self._lock:
            if transfer in self._closed:
                self.refused.append(transfer)
                return False
            for held, given in zip(self.tensors[layer], parts, strict=True):
                _bits(held)[blocks, offsets] = _bits(given)
        return True

    def regions(self, layer: str) -> tuple[KVRegion, ...]:
        """One a part."""
        return tuple(_region(part) for part in self.tensors[layer])

    def fill(self, seed: int) -> None:
        """Random bytes everywhere, none of them NaN."""
        generator = torch.Generator().manual_seed(seed)
        with self._lock:
            for part in self._all():
                part.copy_(torch.randn(part.shape, generator=generator).to(part.dtype))

    def scribble(self, layers: Collection[str], blocks: Sequence[int]) -> None:
        """Another owner's values in these blocks."""
        self._writes += 1
        generator = torch.Generator().manual_seed(self._writes)
        with self._lock:
            for part in itertools.chain.from_iterable(self.tensors[layer] for layer in layers if blocks):
                values = torch.randn(len(blocks), *part.shape[1:], generator=generator).to(part.dtype)
                _bits(part)[list(blocks)] = _bits(values)

    def same_elsewhere(
        self, layer: str, block_ids: Sequence[int], start: int, end: int, before: Sequence[Tensor]
    ) -> bool:
        """Whether a layer is as it was, but for tokens [start, end)."""
        blocks, offsets = self._slots(layer, block_ids, start, end)
        patched = [part.clone() for part in before]
        for old, now in zip(patched, self.tensors[layer], strict=True):
            _bits(old)[blocks, offsets] = _bits(now)[blocks, offsets]
        return same(patched, self.tensors[layer])

    def snapshot(self) -> dict[str, tuple[Tensor, ...]]:
        """Copies of all tensors."""
        with self._lock:
            return {layer: tuple(part.clone() for part in parts) for layer, parts in self.tensors.items()}

    def unchanged(self, before: Mapping[str, Sequence[Tensor]]) -> bool:
        """Whether all is as it was."""
        return all(same(parts, before[layer]) for layer, parts in self.tensors.items())

    def _all(self) -> Iterator[Tensor]:
        for parts in self.tensors.values():
            yield from parts

    def _slots(self, layer: str, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, Tensor]:
        layout = self._group_of.get(layer)
        if layout is None:
            raise ValueError(f"there is no layer {layer!r}; there are {sorted(self._group_of)}")
        size = layout.block_size
        if not 0 <= start <= end <= len(block_ids) * size:
            raise ValueError(f"tokens [{start}, {end}) are not in {len(block_ids)} blocks of {size}")
        position = torch.arange(start, end)
        blocks = torch.tensor(block_ids, dtype=torch.long)[position // size]
        wrong = (blocks <= NULL_BLOCK) | (blocks >= layout.num_blocks)
        if wrong.any():
            raise ValueError(
                f"tokens [{start}, {end}) lie in blocks {blocks[wrong].unique().tolist()}, which nobody has"
            )
        return blocks, position % size


def same(one: Sequence[Tensor], other: Sequence[Tensor]) -> bool:
    """Whether parts are equal, bit for bit."""
    return len(one) == len(other) and all(
        a.dtype == b.dtype and a.shape == b.shape and torch.equal(_bits(a), _bits(b))
        for a, b in zip(one, other, strict=True)
    )


def _zeros(layout: KVLayout) -> Iterator[Tensor]:
    for part in layout.parts:
        shape = (layout.num_blocks, layout.block_size, layout.num_kv_heads, part.width)
        yield torch.zeros(shape, dtype=getattr(torch, part.dtype))


def _bits(tensor: Tensor) -> Tensor:
    """The same memory as whole numbers: small floats cannot be compared or assigned by index everywhere."""
    kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    return tensor.view(kind)


def _region(part: Tensor) -> KVRegion:
    return KVRegion(
        address=part.data_ptr(),
        block_bytes=part[0].numel() * part.element_size(),
        num_blocks=len(part),
        device=str(part.device),
    )
