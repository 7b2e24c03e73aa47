"""Reader of safetensors checkpoints: one file, or several with an index; memory-mapped."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open

from kernelet.contracts.model import WeightReader
from kernelet.errors import WeightsError
from kernelet.loading.mapped import MappedFile

if TYPE_CHECKING:
    from torch import Tensor

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"

DTYPES: Mapping[str, torch.dtype] = MappingProxyType(
    {
        "F64": torch.float64,
        "F32": torch.float32,
        "F16": torch.float16,
        "BF16": torch.bfloat16,
        "F8_E4M3": torch.float8_e4m3fn,
        "F8_E5M2": torch.float8_e5m2,
        "I64": torch.int64,
        "I32": torch.int32,
        "I16": torch.int16,
        "I8": torch.int8,
        "U8": torch.uint8,
        "BOOL": torch.bool,
    }
)
"""By the format's name; the library reads tensors of other dtypes."""

_BITS = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
_SETTLED = 100_000_000
"""Nanoseconds: a later change of a file that was changed just now may leave its times as they are."""


@dataclass(frozen=True)
class _Entry:
    path: Path
    file: MappedFile
    content: str | None
    dtype: str
    shape: tuple[int, ...]
    begin: int

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * _bits(self.dtype) // 8


class SafetensorsReader(WeightReader):
    """Tensors of ``model.safetensors``, of the files that ``model.safetensors.index.json`` names, or of all such files.

    Files are mapped: a tensor is a view that costs no memory until it is used, and none once it is dropped.
    """

    def __init__(self, folder: Path) -> None:
        """Opens every file and reads its header.

        Raises:
            WeightsError: if there is no file, one is missing or damaged, or two hold the same tensor.
        """
        self.folder = folder
        self._entries: dict[str, _Entry] = {}
        self._files: list[MappedFile] = []
        expected = self._index()
        for path in self._paths(expected):
            self._open(path)
        for name, file in expected.items():
            entry = self._entries.get(name)
            if entry is None or entry.path.name != file:
                raise WeightsError(f"{folder / INDEX} says that {name} is in {file}, where it is not")

    def names(self) -> Sequence[str]:
        return sorted(self._entries)

    def shape(self, name: str) -> tuple[int, ...]:
        return self._entry(name).shape

    def read(self, name: str, rows: slice | None = None) -> Tensor:
        entry = self._entry(name)
        dtype = DTYPES.get(entry.dtype)
        if dtype is None:
            return _by_library(entry.path, name, rows)
        if rows is None:
            return entry.file.tensor(entry.begin, dtype, entry.shape)
        first, last, step = rows.indices(entry.shape[0])
        count, row = max(0, last - first), prod(entry.shape[1:]) * dtype.itemsize
        tensor = entry.file.tensor(entry.begin + first * row, dtype, (count, *entry.shape[1:]))
        return tensor if step == 1 else tensor[::step]

    def nbytes(self, name: str | None = None) -> int:
        if name is not None:
            return self._entry(name).nbytes
        return sum(entry.nbytes for entry in self._entries.values())

    def identity(self, name: str) -> str | None:
        """By the file's inode, size and times, and the place in it; None while the file is younger than its clock."""
        entry = self._entry(name)
        return entry.content and f"{entry.content} {entry.dtype} {entry.shape} at {entry.begin}"

    def mapped_bytes(self) -> int:
        return sum(file.live for file in self._files)

    def _entry(self, name: str) -> _Entry:
        if name not in self._entries:
            raise WeightsError(f"{self.folder} holds no tensor {name!r}")
        return self._entries[name]

    def _index(self) -> dict[str, str]:
        path = self.folder / INDEX
        if not path.is_file():
            return {}
        try:
            found = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
            return {str(name): str(file) for name, file in found.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise WeightsError(f"{path} is damaged: {error!r}; fetch the file again") from error

    def _paths(self, index: dict[str, str]) -> list[Path]:
        if index:
            return [self.folder / file for file in sorted(set(index.values()))]
        if (self.folder / SINGLE).is_file():
            return [self.folder / SINGLE]
        found = sorted(self.folder.glob("*.safetensors"))
        if not found:
            raise WeightsError(f"{self.folder} holds no *.safetensors file; is it the folder of a model?")
        return found

    def _open(self, path: Path) -> None:
        if not path.is_file():
            raise WeightsError(f"{path} is missing, but {INDEX} names it; fetch the model again")
        content = _content(path)
        try:
            with safe_open(path, framework="pt") as checked:
                names = list(checked.keys())
            header, start = _header(path)
            file = MappedFile(path)
        except (SafetensorError, OSError) as error:
            raise WeightsError(f"{path} is damaged or no safetensors file: {error}; fetch the file again") from error
        self._files.append(file)
        for name in names:
            if name in self._entries:
                raise WeightsError(f"{name} is in {self._entries[name].path} and in {path}")
            one = header[name]
            begin = start + one["data_offsets"][0]
            self._entries[name] = _Entry(path, file, content, one["dtype"], tuple(one["shape"]), begin)


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """The header of a file that the library found to be sound, and where the data begins.

    Format: https://huggingface.co/docs/safetensors.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return json.loads(file.read(length)), 8 + length


def _content(path: Path) -> str | None:
    found = path.stat()
    if time.time_ns() - found.st_ctime_ns < _SETTLED:
        return None
    return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}"


def _by_library(path: Path, name: str, rows: slice | None) -> Tensor:
    try:
        with safe_open(path, framework="pt") as file:
            tensor: Tensor = file.get_tensor(name) if rows is None else file.get_slice(name)[rows]
    except (SafetensorError, OSError, RuntimeError) as error:
        raise WeightsError(f"{path} is damaged at {name}: {error}; fetch the file again") from error
    return tensor


def _bits(dtype: str) -> int:
    """Bits of an element of a dtype as the format names it: ``"BF16"``, ``"F8_E4M3"``, ``"I64"``."""
    if dtype in _BITS:
        return _BITS[dtype]
    digits = "".join(char for char in dtype.split("_", maxsplit=1)[0] if char.isdigit())
    return int(digits) if digits else 8
