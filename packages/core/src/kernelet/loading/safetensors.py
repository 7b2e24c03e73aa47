"""Reader of safetensors checkpoints: one file, or several with an index; memory-mapped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from kernelet.contracts.model import WeightReader
from kernelet.errors import WeightsError

if TYPE_CHECKING:
    from torch import Tensor

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
_BITS = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}


@dataclass(frozen=True)
class _Entry:
    file: Any
    path: Path
    shape: tuple[int, ...]
    nbytes: int


class SafetensorsReader(WeightReader):
    """Tensors of ``model.safetensors``, of the files that ``model.safetensors.index.json`` names, or of all such files.

    Files are mapped, so a tensor costs no memory until it is used and none is copied before a layer takes it.
    """

    def __init__(self, folder: Path) -> None:
        """Opens every file and reads its header.

        Raises:
            WeightsError: if there is no file, one is missing or damaged, or two hold the same tensor.
        """
        self.folder = folder
        self._entries: dict[str, _Entry] = {}
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
        try:
            tensor: Tensor = entry.file.get_tensor(name) if rows is None else entry.file.get_slice(name)[rows]
        except (SafetensorError, OSError, RuntimeError) as error:
            raise WeightsError(f"{entry.path} is damaged at {name}: {error}; fetch the file again") from error
        return tensor

    def nbytes(self, name: str | None = None) -> int:
        if name is not None:
            return self._entry(name).nbytes
        return sum(entry.nbytes for entry in self._entries.values())

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
        try:
            file: Any = safe_open(path, framework="pt")
            names = list(file.keys())
        except (SafetensorError, OSError) as error:
            raise WeightsError(f"{path} is damaged or no safetensors file: {error}; fetch the file again") from error
        for name in names:
            if name in self._entries:
                raise WeightsError(f"{name} is in {self._entries[name].path} and in {path}")
            part = file.get_slice(name)
            shape = tuple(part.get_shape())
            self._entries[name] = _Entry(file, path, shape, prod(shape) * _bits(part.get_dtype()) // 8)


def _bits(dtype: str) -> int:
    """Bits of an element of a dtype as the format names it: ``"BF16"``, ``"F8_E4M3"``, ``"I64"``."""
    if dtype in _BITS:
        return _BITS[dtype]
    digits = "".join(char for char in dtype.split("_", maxsplit=1)[0] if char.isdigit())
    return int(digits) if digits else 8
