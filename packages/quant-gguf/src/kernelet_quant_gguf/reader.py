"""Reader of the files of a folder, memory-mapped, with the names and the order of rows of Hugging Face."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.model import WeightReader
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet.loading.mapped import MappedFile
from kernelet_quant_gguf.file import GGUFFile
from kernelet_quant_gguf.names import Order, Piece, architecture_of, pieces_of

PATTERN = "*.gguf"
_SETTLED = 100_000_000
"""Nanoseconds: a later change of a file that was changed just now may leave its times as they are."""


SMALL = 1 << 20
"""Bytes below which a tensor is copied: the system maps pages around each that is touched, and they stay mapped."""


class _Data:
    """The bytes of a file."""

    def __init__(self, path: Path) -> None:
        self.mapped = MappedFile(path)
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def tensor(self, begin: int, dtype: torch.dtype, shape: tuple[int, ...]) -> Tensor:
        """The tensor at an offset."""
        nbytes = prod(shape) * dtype.itemsize
        if not 0 < nbytes < SMALL:
            return self.mapped.tensor(begin, dtype, shape)
        return torch.frombuffer(bytearray(os.pread(self._file, nbytes, begin)), dtype=dtype).view(shape)


@dataclass(frozen=True)
class _Entry:
    piece: Piece
    path: Path
    data: _Data
    content: str | None

    @property
    def dtype(self) -> torch.dtype:
        found: torch.dtype = getattr(torch, self.piece.tensor.type.dtype)
        return found

    @property
    def row_bytes(self) -> int:
        return prod(self.piece.stored[1:]) * self.dtype.itemsize

    def rows(self, first: int, count: int) -> Tensor:
        """Rows of the tensor as they lie in the file."""
        begin = self.piece.tensor.begin + (self.piece.first + first) * self.row_bytes
        return self.data.tensor(begin, self.dtype, (count, *self.piece.stored[1:]))


class GGUFReader(WeightReader):
    """Tensors of all ``*.gguf`` files of a folder. Quantized weights are uint8 [out, bytes of a row].

    A file that names no architecture of ours has its tensors under their own names.
    """

    def __init__(self, folder: Path) -> None:
        """Reads the headers.

        Raises:
            WeightsError: there is no file, one is damaged, or two hold the same tensor.
            UnsupportedModelError: a tensor or its type is not served; names it.
        """
        self.folder = folder
        self._entries: dict[str, _Entry] = {}
        self._files: list[_Data] = []
        paths = sorted(folder.glob(PATTERN))
        if not paths:
            raise WeightsError(f"{folder} holds no {PATTERN} file; is it the folder of a model?")
        files = [GGUFFile.read(path, texts=False) for path in paths]
        for file in files:
            self._open(file, files[0])

    def names(self) -> Sequence[str]:
        return sorted(self._entries)

    def shape(self, name: str) -> tuple[int, ...]:
        return self._entry(name).piece.stored

    def read(self, name: str, rows: slice | None = None) -> Tensor:
        entry = self._entry(name)
        count = entry.piece.stored[0]
        first, last, step = (slice(None) if rows is None else rows).indices(count)
        if entry.piece.order is not None:
            tensor = entry.rows(0, count)[_places(entry.piece.order, count)[first:last:step]]
        else:
            tensor = entry.rows(first, max(0, last - first))
            tensor = tensor if step == 1 else tensor[::step]
        return tensor - entry.piece.offset if entry.piece.offset else tensor

    def nbytes(self, name: str | None = None) -> int:
        names = self._entries if name is None else [name]
        return sum(self._entry(one).piece.stored[0] * self._entry(one).row_bytes for one in names)

    def identity(self, name: str) -> str | None:
        """By the file's inode, size and times, and the place in it; None while the file is younger than its clock."""
        entry = self._entry(name)
        return entry.content and f"{entry.content} {entry.piece}"

    def mapped_bytes(self) -> int:
        return sum(file.mapped.live for file in self._files)

    def _entry(self, name: str) -> _Entry:
        if name not in self._entries:
            raise WeightsError(f"{self.folder} holds no tensor {name!r}")
        return self._entries[name]

    def _open(self, file: GGUFFile, first: GGUFFile) -> None:
        content = _content(file.path)
        data = _Data(file.path)
        self._files.append(data)
        for name, piece in _pieces(file, first.fields).items():
            if name in self._entries:
                raise WeightsError(f"{name} is in {self._entries[name].path} and in {file.path}")
            self._entries[name] = _Entry(piece, file.path, data, content)


def _pieces(file: GGUFFile, fields: Mapping[str, Any]) -> Mapping[str, Piece]:
    try:
        architecture = architecture_of(GGUFFile(file.path, fields, {}))
    except UnsupportedModelError:
        return {tensor.name: Piece(tensor, tensor.shape) for tensor in file.tensors.values()}
    return pieces_of(architecture, file, fields)


def _places(order: Order, rows: int) -> Tensor:
    """Where the rows lie in the file, in the order of Hugging Face."""
    axes, turned = order.stored(rows)
    return torch.arange(rows).view(axes).permute(turned).flatten()


def _content(path: Path) -> str | None:
    found = path.stat()
    if time.time_ns() - found.st_ctime_ns < _SETTLED:
        return None
    return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}"
