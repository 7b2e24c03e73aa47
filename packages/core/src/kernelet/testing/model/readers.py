"""Readers over another reader: one that watches, and one whose tensors were changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from kernelet.contracts.model import WeightReader

Change = Callable[[dict[str, Tensor]], None]


class WatchedReader(WeightReader):
    """Counts how often each tensor is read."""

    def __init__(self, inner: WeightReader | Path) -> None:
        assert isinstance(inner, WeightReader)
        self._inner = inner
        self.reads: dict[str, int] = {}

    def names(self) -> Sequence[str]:
        return self._inner.names()

    def shape(self, name: str) -> tuple[int, ...]:
        return self._inner.shape(name)

    def nbytes(self, name: str | None = None) -> int:
        return self._inner.nbytes(name)

    def read(self, name: str, rows: slice | None = None) -> Tensor:
        self.reads[name] = self.reads.get(name, 0) + 1
        return self._inner.read(name, rows)


class ChangedReader(WatchedReader):
    """The tensors of a reader after a change."""

    def __init__(self, inner: WeightReader, change: Change) -> None:
        super().__init__(inner)
        self.tensors = {name: inner.read(name) for name in inner.names()}
        change(self.tensors)

    def names(self) -> Sequence[str]:
        return list(self.tensors)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.tensors[name].shape)

    def nbytes(self, name: str | None = None) -> int:
        return sum(tensor.nbytes for key, tensor in self.tensors.items() if name in {None, key})

    def read(self, name: str, rows: slice | None = None) -> Tensor:
        self.reads[name] = self.reads.get(name, 0) + 1
        return self.tensors[name] if rows is None else self.tensors[name][rows]


def without(name: str) -> Change:
    """A tensor is missing."""

    def change(tensors: dict[str, Tensor]) -> None:
        del tensors[name]

    return change


def with_more(name: str) -> Change:
    """There is a tensor more."""

    def change(tensors: dict[str, Tensor]) -> None:
        tensors[name] = torch.ones(3)

    return change


def longer(name: str) -> Change:
    """A tensor has a row more."""

    def change(tensors: dict[str, Tensor]) -> None:
        tensors[name] = torch.cat((tensors[name], tensors[name][:1]))

    return change


def shifted(name: str) -> Change:
    """A tensor has other values."""

    def change(tensors: dict[str, Tensor]) -> None:
        generator = torch.Generator().manual_seed(5)
        values = tensors[name]
        noise = torch.randn(values.shape, generator=generator)
        tensors[name] = (values + (values.std(correction=0) + 1) * noise).to(values.dtype)

    return change
