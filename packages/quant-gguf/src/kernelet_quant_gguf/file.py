"""The header of a file: what it says of the model, and where its tensors lie.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet_quant_gguf.types import TYPES, UNSERVED, TensorType

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT = 32
MOST_AXES = 4

_STRING, _ARRAY = 8, 9
_LENGTH = struct.Struct("<Q")
_SCALARS: Mapping[int, str] = MappingProxyType(
    {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
)
"""Formats of ``struct`` by the number in the file."""


class _DamagedError(Exception):
    """The header is not what it should be; the message is the reason."""


@dataclass(frozen=True)
class FileTensor:
    """A tensor of a file.

    Attributes:
        name: As the file names it.
        type: How its elements are stored.
        shape: Slowest axis first.
        begin: Offset in the file.
    """

    name: str
    type: TensorType
    shape: tuple[int, ...]
    begin: int

    @property
    def nbytes(self) -> int:
        return prod(self.shape[:-1]) * self.type.row_bytes(self.shape[-1])


@dataclass(frozen=True)
class GGUFFile:
    """A file's header.

    Attributes:
        path: The file.
        fields: What it says, by key.
        tensors: By name, in the file's order.
    """

    path: Path
    fields: Mapping[str, Any]
    tensors: Mapping[str, FileTensor]

    @classmethod
    def read(cls, path: Path, *, texts: bool = True) -> GGUFFile:
        """Reads the header; no tensor is read.

        Args:
            path: The file.
            texts: Whether lists of texts are read: those of a vocabulary are most of a header.

        Raises:
            WeightsError: the file is missing, cut short or damaged; names it, and the tensor where it is one's.
            UnsupportedModelError: a version, byte order or type that is not served.
        """
        try:
            with path.open("rb") as file:
                if path.stat().st_size < 2 * len(MAGIC):
                    raise _DamagedError("it is too short")
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                    return cls(path, *_Header(path, data, texts=texts).read())
        except (OSError, ValueError, struct.error, _DamagedError) as error:
            raise WeightsError(f"{path} is damaged or no GGUF file: {error}; fetch the file again") from error

    def floats(self, name: str, count: int) -> list[float]:
        """All numbers of a small tensor of F32.

        Raises:
            UnsupportedModelError: it is not there, or of another type or shape.
        """
        tensor = self.tensors.get(name)
        if tensor is None or tensor.type.name != "F32" or tensor.shape != (count,):
            found = "is not there" if tensor is None else f"is {tensor.type.name} {list(tensor.shape)}"
            raise UnsupportedModelError(f"{self.path}: {name} {found}, expected F32 [{count}]")
        with self.path.open("rb") as data:
            data.seek(tensor.begin)
            return list(struct.unpack(f"<{count}f", data.read(tensor.nbytes)))


class _Header:
    def __init__(self, path: Path, data: mmap.mmap, *, texts: bool) -> None:
        self._path = path
        self._texts = texts
        self._data = data
        self._at = 0

    def read(self) -> tuple[dict[str, Any], dict[str, FileTensor]]:
        if self._bytes(len(MAGIC)) != MAGIC:
            raise _DamagedError(f"it does not begin with {MAGIC.decode()}")
        self._check_version(int(self._number("I")))
        tensors, fields = int(self._number("Q")), int(self._number("Q"))
        said: dict[str, Any] = {}
        for _ in range(fields):
            key = self._string()
            if key in said:
                raise _DamagedError(f"its header says {key} twice")
            said[key] = self._value(self._number("I"))
        entries = [self._entry() for _ in range(tensors)]
        alignment = said.get("general.alignment", ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1:
            raise _DamagedError(f"general.alignment is {alignment!r}")
        start = -(-self._at // alignment) * alignment
        found: dict[str, FileTensor] = {}
        for name, number, shape, offset in entries:
            if name in found:
                raise _DamagedError(f"it holds the tensor {name} twice")
            found[name] = self._tensor(name, number, shape, start + offset)
        return said, found

    def _check_version(self, version: int) -> None:
        if version & 0xFFFF == 0:
            raise UnsupportedModelError(
                f"{self._path} is of the other byte order (big-endian): convert it, e.g. with gguf-convert-endian of "
                f"the gguf package"
            )
        if version not in VERSIONS:
            advice = "upgrade kernelet-quant-gguf" if version > max(VERSIONS) else "convert the model again"
            served = " and ".join(map(str, VERSIONS))
            raise UnsupportedModelError(f"{self._path} is of version {version} of GGUF; {served} are read: {advice}")

    def _bytes(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise _DamagedError("it ends inside its header")
        self._at += count
        return self._data[self._at - count : self._at]

    def _number(self, kind: str) -> Any:
        return struct.unpack(f"<{kind}", self._bytes(struct.calcsize(f"<{kind}")))[0]

    def _string(self) -> str:
        return self._bytes(self._number("Q")).decode("utf-8", "replace")

    def _strings(self, count: int) -> list[str]:
        """Many texts, in a loop without calls of ours: a vocabulary has hundred thousands."""
        data, at, end, read, wanted = self._data, self._at, len(self._data), _LENGTH.unpack_from, self._texts
        found = []
        for _ in range(count):
            first = at + _LENGTH.size
            at = first + (read(data, at)[0] if first <= end else 0)
            if at > end:
                raise _DamagedError("it ends inside its header")
            if wanted:
                found.append(data[first:at].decode("utf-8", "replace"))
        self._at = at
        return found

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            inner, count = self._number("I"), self._number("Q")
            if inner in _SCALARS:
                size = struct.calcsize(f"<{_SCALARS[inner]}")
                return list(struct.unpack(f"<{count}{_SCALARS[inner]}", self._bytes(count * size)))
            if inner != _STRING:
                raise _DamagedError(f"a list of its header is of the unknown kind {inner}")
            return self._strings(count)
        if kind not in _SCALARS:
            raise _DamagedError(f"a value of its header is of the unknown kind {kind}")
        return self._number(_SCALARS[kind])

    def _entry(self) -> tuple[str, int, tuple[int, ...], int]:
        name, axes = self._string(), self._number("I")
        if not 1 <= axes <= MOST_AXES:
            raise _DamagedError(f"tensor {name} has {axes} axes")
        shape = tuple(self._number("Q") for _ in range(axes))[::-1]  # the file states the fastest axis first
        return name, self._number("I"), shape, self._number("Q")

    def _tensor(self, name: str, number: int, shape: tuple[int, ...], begin: int) -> FileTensor:
        kind = TYPES.get(number)
        if kind is None:
            served = ", ".join(one.name for one in TYPES.values())
            raise UnsupportedModelError(
                f"{self._path}: tensor {name} is stored as {UNSERVED.get(number, f'type {number}')}, which is not "
                f"served; served are {served}: take the model quantized to one of these"
            )
        if shape[-1] % kind.block:
            raise _DamagedError(
                f"tensor {name} has rows of {shape[-1]} elements, but {kind.name} has {kind.block} a block"
            )
        tensor = FileTensor(name, kind, shape, begin)
        end, size = begin + tensor.nbytes, len(self._data)
        if end > size:
            raise _DamagedError(f"it is cut short: tensor {name} ends at byte {end}, and the file has {size}")
        return tensor
