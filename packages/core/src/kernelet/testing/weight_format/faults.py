"""Wrong readers of weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from kernelet.contracts.model import WeightFormatOffer
from kernelet.contracts.offer import Settings
from kernelet.errors import WeightsError
from kernelet.testing.faults import Fault
from kernelet.testing.offered import Offered
from kernelet.testing.weight_format.reference import PATTERN, Entry, PlainReader, as_tensor, read_header, write_plain
from kernelet.testing.weight_format.suite import WeightFormatCapabilities, WeightFormatSuite, Write


def suite_of(reader: type[Any], pattern: str = PATTERN) -> type[WeightFormatSuite]:
    """The suite as the author of that reader writes it."""

    class Faulty(WeightFormatSuite):
        capabilities = WeightFormatCapabilities(dtypes=("float32", "bfloat16", "int8"))

        @pytest.fixture
        def offered(self) -> Offered[WeightFormatOffer]:
            target = f"{reader.__module__}:{reader.__qualname__}"
            offer = WeightFormatOffer(name="faulty", target=target, patterns=(pattern,))
            return Offered(offer=offer, settings=Settings(plugin="faulty"), target=reader)

        @pytest.fixture
        def write(self) -> Write:
            return write_plain

    return Faulty


class NotAReader:
    def __init__(self, *_: object) -> None:
        """Takes anything."""


class Converts(PlainReader):
    def read(self, name: str, rows: slice | None = None) -> Tensor:
        tensor = super().read(name, rows)
        return tensor.float() if tensor.is_floating_point() else tensor


class Forgets(PlainReader):
    def names(self) -> list[str]:
        return list(self.entries)[:8]


class IgnoresRows(PlainReader):
    def read(self, name: str, rows: slice | None = None) -> Tensor:
        return super().read(name)


class Lets(PlainReader):
    def entry(self, name: str) -> Entry:
        return self.entries[name]


class TakesTruncated(PlainReader):
    """Fills up what a file lacks."""

    def __init__(self, folder: Path) -> None:
        try:
            super().__init__(folder)
        except WeightsError:
            if not any(folder.glob(PATTERN)):
                raise

    def read(self, name: str, rows: slice | None = None) -> Tensor:
        entry = self.entry(name)
        with entry.path.open("rb") as file:
            file.seek(entry.start)
            data = file.read(entry.nbytes).ljust(entry.nbytes, b"\0")
        tensor = as_tensor(data, entry)
        return tensor if rows is None else tensor[rows]


class SaysNothing(PlainReader):
    """Its errors name no file."""

    def __init__(self, folder: Path) -> None:
        try:
            super().__init__(folder)
        except WeightsError as error:
            raise WeightsError(f"{folder}: something is wrong") from error


class CountsElements(PlainReader):
    def nbytes(self, name: str | None = None) -> int:
        entries = self.entries.values() if name is None else [self.entry(name)]
        return sum(entry.nbytes // entry.dtype.itemsize for entry in entries)


class Eager(PlainReader):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.tensors = {name: PlainReader.read(self, name) for name in self.entries}


class FirstFileOnly(PlainReader):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        first = min(folder.glob(PATTERN))
        self.entries = {name: entry for name, entry in self.entries.items() if entry.path == first}


class OneBuffer(PlainReader):
    """Every tensor in the same memory."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.buffer = torch.empty(0, dtype=torch.uint8)

    def read(self, name: str, rows: slice | None = None) -> Tensor:
        tensor = super().read(name)
        if self.buffer.numel() < tensor.nbytes:
            self.buffer = torch.empty(tensor.nbytes, dtype=torch.uint8)
        view = self.buffer[: tensor.nbytes].view(tensor.dtype).reshape(tensor.shape)
        view.copy_(tensor)
        return view if rows is None else view[rows]


class KeepsOpen(PlainReader):
    kept = (None,)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        type(self).kept = (type(self).kept, *(path.open("rb") for path in folder.glob(PATTERN)))  # type: ignore[assignment]


class CountsTheHeader(PlainReader):
    def nbytes(self, name: str | None = None) -> int:
        if name is None:
            return sum(map(self.nbytes, self.entries))
        header = min(entry.start for entry in self.entries.values())
        return self.entry(name).nbytes + header // len(self.entries)


class KeepsTensors(PlainReader):
    tensors: dict[str, Tensor] = {"": torch.empty(0)}  # noqa: RUF012 - the fault

    def read(self, name: str, rows: slice | None = None) -> Tensor:
        kept = self.tensors.setdefault(f"{self.entry(name).path} {name}", super().read(name))
        return kept if rows is None else kept[rows]


class LooksEverywhere(PlainReader):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for path in sorted(folder.rglob(PATTERN)):
            self.entries |= read_header(path)


_PLANTED: tuple[tuple[str, type[Any], str], ...] = (
    ("is-no-reader", NotAReader, "is no WeightReader"),
    ("converts-to-another-dtype", Converts, "must return the file's dtype"),
    ("forgets-tensors", Forgets, "names() must list every tensor"),
    ("ignores-the-rows", IgnoresRows, "read() with a slice must return those rows"),
    ("lets-a-key-error-through", Lets, "of a tensor that is not there must raise WeightsError"),
    ("fills-up-a-damaged-file", TakesTruncated, "that ends in the middle must raise WeightsError"),
    ("does-not-say-which-file", SaysNothing, "the error of a damaged file must name the file"),
    ("counts-elements-for-bytes", CountsElements, "nbytes() must be the bytes that a tensor takes"),
    ("counts-its-header", CountsTheHeader, "headers are not part of it"),
    ("keeps-tensors-for-all-readers", KeepsTensors, "two readers must share nothing"),
    ("reads-subfolders", LooksEverywhere, "files in subfolders are not the checkpoint's"),
    ("reads-everything-at-once", Eager, "readers are lazy"),
    ("reads-the-first-file-only", FirstFileOnly, "a folder of several files must be read as one checkpoint"),
    ("reads-into-one-buffer", OneBuffer, "must keep its values when another is read"),
    ("keeps-files-open", KeepsOpen, "its files must not stay open"),
)

FAULTS = (
    *(Fault(name=name, suite=suite_of(reader), says=says) for name, reader, says in _PLANTED),
    Fault(
        name="states-another-pattern",
        suite=suite_of(PlainReader, "*.plane"),
        says="`patterns` of the offer must match the files",
    ),
)
