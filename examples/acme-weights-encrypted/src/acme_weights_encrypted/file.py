"""One encrypted file: tensors in, tensors out."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Protocol

import msgspec
import torch
from torch import Tensor

from acme_weights_encrypted.chunks import (
    DATA,
    HEADER_BYTES,
    INDEX,
    SALT,
    Box,
    DamagedError,
    Header,
    WrongKeyError,
    derive,
)
from acme_weights_encrypted.key import OPTION
from kernelet.errors import ConfigError, WeightsError

DTYPES = (
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
)


class Entry(msgspec.Struct, frozen=True):
    """A tensor: ``start`` is its first byte in the data."""

    dtype: str
    shape: tuple[int, ...]
    start: int

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.torch_dtype.itemsize

    @property
    def torch_dtype(self) -> torch.dtype:
        dtype: torch.dtype = getattr(torch, self.dtype)
        return dtype


class Tensors(Protocol):
    """Where tensors come from, one at a time."""

    def shapes(self) -> Mapping[str, tuple[torch.dtype, tuple[int, ...]]]:
        """Dtype and shape by name, in the order in which they are written."""
        ...

    def read(self, name: str) -> Tensor:
        """One of them."""
        ...


def write_file(path: Path, tensors: Tensors, key: bytes) -> None:
    """Encrypts tensors into a new file; one is in memory at a time.

    Raises:
        WeightsError: a dtype that the format does not hold.
    """
    entries: dict[str, Entry] = {}
    total = 0
    for name, (dtype, shape) in tensors.shapes().items():
        entry = Entry(str(dtype).removeprefix("torch."), shape, total)
        if entry.dtype not in DTYPES:
            raise WeightsError(f"{name} is of {dtype}, which the format does not hold; it holds {', '.join(DTYPES)}")
        entries[name] = entry
        total += entry.nbytes
    index = msgspec.json.encode(entries)
    salt = secrets.token_bytes(SALT)
    header = Header(salt=salt, check=derive(key, salt)[1], index_bytes=len(index), data_bytes=total)
    box = Box(key, header)
    with path.open("xb") as file:
        file.write(header.pack())
        for stream, pieces in ((INDEX, iter([index])), (DATA, contents(tensors, entries))):
            for chunk in box.seal(stream, pieces):
                file.write(chunk)


def contents(tensors: Tensors, entries: Mapping[str, Entry]) -> Iterator[memoryview]:
    """The bytes of all tensors, one after the other."""
    for name in entries:
        flat = tensors.read(name).contiguous().reshape(-1)
        yield flat.view(torch.uint8).numpy().data


class EncryptedFile:
    """An encrypted file, open for reading; the file itself is opened for each reading, so threads share nothing.

    Raises:
        WeightsError: the file is damaged or not of this format.
        ConfigError: the key is another one.
    """

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                header = Header.unpack(file.read(HEADER_BYTES))
            if path.stat().st_size != header.file_bytes:
                raise DamagedError(f"it has {path.stat().st_size} bytes instead of {header.file_bytes}")
            self._box = Box(key, header)
            index = self._read(INDEX, 0, header.index_bytes)
        except (DamagedError, OSError) as error:
            raise self._damaged(error) from None
        except WrongKeyError:
            raise ConfigError(f"{path} was encrypted with another key: name its file with {OPTION}") from None
        self.entries = msgspec.json.decode(index, type=dict[str, Entry])

    def read(self, name: str, rows: slice | None = None) -> Tensor:
        """A tensor, or some of its rows; only the chunks that hold them are read.

        Raises:
            WeightsError: a chunk is damaged.
        """
        entry = self.entries[name]
        shape, start, size, step = entry.shape, entry.start, entry.nbytes, 1
        if rows is not None:
            first, last, step = rows.indices(shape[0])
            first, last, step = (first, max(first, last), 1) if step == 1 else (0, shape[0], step)
            row = prod(shape[1:]) * entry.torch_dtype.itemsize
            shape, start, size = (last - first, *shape[1:]), start + first * row, (last - first) * row
        try:
            raw = self._read(DATA, start, start + size)
        except (DamagedError, OSError) as error:
            raise self._damaged(error, name) from None
        flat = torch.frombuffer(raw, dtype=entry.torch_dtype) if raw else torch.empty(0, dtype=entry.torch_dtype)
        tensor = flat.reshape(shape)
        return tensor if step == 1 else tensor[rows]

    def _read(self, stream: int, start: int, stop: int) -> bytearray:
        with self.path.open("rb") as file:
            return self._box.open(file, stream, start, stop)

    def _damaged(self, error: Exception, name: str = "") -> WeightsError:
        where = f" at {name}" if name else ""
        return WeightsError(f"{self.path} is damaged{where}: {error}; fetch the file again")
