"""A slow obvious weight format: a line of JSON that says where each tensor lies, then their bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import torch
from torch import Tensor

from kernelet.contracts.model import WeightReader
from kernelet.errors import WeightsError

PATTERN = "*.plain"
MAGIC = "plain 1"


def write_plain(folder: Path, tensors: Mapping[str, Tensor]) -> None:
    """Writes ``weights.plain``."""
    entries: dict[str, object] = {}
    offset = 0
    for name, tensor in tensors.items():
        entries[name] = [str(tensor.dtype).removeprefix("torch."), list(tensor.shape), offset]
        offset += tensor.nbytes
    header = json.dumps({"format": MAGIC, "bytes": offset, "tensors": entries}).encode() + b"\n"
    (folder / "weights.plain").write_bytes(header + b"".join(map(raw_bytes, tensors.values())))


def raw_bytes(tensor: Tensor) -> bytes:
    """The elements of a tensor, as they lie in memory."""
    return tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes()


@dataclass(frozen=True)
class Entry:
    """Where a tensor lies.

    Attributes:
        start: First byte in the file.
    """

    path: Path
    dtype: torch.dtype
    shape: tuple[int, ...]
    start: int

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor."""
        return prod(self.shape) * self.dtype.itemsize


class PlainReader(WeightReader):
    """Opens a file only while it reads from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: dict[str, Entry] = {}
        files = sorted(folder.glob(PATTERN))
        if not files:
            raise WeightsError(f"{folder} holds no {PATTERN} file")
        for path in files:
            for name, entry in read_header(path).items():
                if name in self.entries:
                    raise WeightsError(f"{name} is in {self.entries[name].path} and in {path}")
                self.entries[name] = entry

    def names(self) -> Sequence[str]:
        return list(self.entries)

    def shape(self, name: str) -> tuple[int, ...]:
        return self.entry(name).shape

    def nbytes(self, name: str | None = None) -> int:
        return sum(entry.nbytes for entry in self.entries.values()) if name is None else self.entry(name).nbytes

    def read(self, name: str, rows: slice | None = None) -> Tensor:
        entry = self.entry(name)
        with entry.path.open("rb") as file:
            file.seek(entry.start)
            data = file.read(entry.nbytes)
        if len(data) < entry.nbytes:
            raise WeightsError(f"{entry.path} is damaged: it ends inside {name}")
        tensor = as_tensor(data, entry)
        return tensor if rows is None else tensor[rows]

    def entry(self, name: str) -> Entry:
        """Where a tensor lies.

        Raises:
            WeightsError: there is no such tensor.
        """
        if name not in self.entries:
            raise WeightsError(f"{self.folder} holds no tensor {name!r}")
        return self.entries[name]


def as_tensor(data: bytes, entry: Entry) -> Tensor:
    """A tensor from its bytes."""
    if not data:
        return torch.empty(entry.shape, dtype=entry.dtype)
    return torch.frombuffer(bytearray(data), dtype=entry.dtype).reshape(entry.shape)


def read_header(path: Path) -> dict[str, Entry]:
    """The entries of one file.

    Raises:
        WeightsError: the file is damaged.
    """
    with path.open("rb") as file:
        line = file.readline()
    try:
        header = json.loads(line)
        if header["format"] != MAGIC or path.stat().st_size != len(line) + header["bytes"]:
            raise ValueError("its size is not the one that it states")
        return {
            name: Entry(path, getattr(torch, dtype), tuple(shape), len(line) + offset)
            for name, (dtype, shape, offset) in header["tensors"].items()
        }
    except (ValueError, KeyError, TypeError) as error:
        raise WeightsError(f"{path} is damaged: {error}") from error
