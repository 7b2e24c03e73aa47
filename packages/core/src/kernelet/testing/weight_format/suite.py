"""The suite of weight formats: what was written is read, as it was written, and no more than was asked for."""

from __future__ import annotations

import gc
import itertools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernelet.contracts.model import WeightFormatOffer, WeightReader
from kernelet.errors import WeightsError
from kernelet.testing.offered import Offered
from kernelet.testing.search import SEARCH
from kernelet.testing.suite import Suite
from kernelet.testing.verdict import check
from kernelet.testing.weight_format.files import bytes_read, damages, files_of, matching, open_files, spread
from kernelet.testing.weight_format.tensors import equal, make_tensors, random_tensor, shapes

Write = Callable[[Path, Mapping[str, Tensor]], None]
LARGE = 1 << 23
"""Bytes of the tensor that nobody asks for."""


@dataclass(frozen=True, kw_only=True)
class WeightFormatCapabilities:
    """What a format holds.

    Attributes:
        dtypes: Names of torch's dtypes that come back as they were written.
        scalars: Tensors without axes.
        several_files: A folder may hold several files of the format, under any stem.
        checksums: A changed byte is noticed, not only a lost one.
        lazy: Names, shapes and other tensors cost no reading of a tensor (held where the system tells what is read).
    """

    dtypes: tuple[str, ...] = ("float32", "float16", "bfloat16")
    scalars: bool = True
    several_files: bool = True
    checksums: bool = False
    lazy: bool = True


class WeightFormatSuite(Suite):
    """Fixtures ``offered``: ``find_offer("acme_kernelet.plugin", WeightFormatOffer)``, and ``write``."""

    capabilities: ClassVar[WeightFormatCapabilities] = WeightFormatCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[WeightFormatOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', WeightFormatOffer)")

    @pytest.fixture
    def write(self) -> Write:
        raise NotImplementedError("give the fixture `write`: a function (folder, tensors by name) that writes the file")

    @pytest.fixture
    def read(self, offered: Offered[WeightFormatOffer]) -> Callable[[Path], WeightReader]:
        """Opens a folder as the core does."""

        def read(folder: Path) -> WeightReader:
            target = offered.target
            is_reader = isinstance(target, type) and issubclass(target, WeightReader)
            check(is_reader, f"{offered.offer.target} is no WeightReader")
            reader: WeightReader = target.open(folder, offered.settings)
            return reader

        return read

    @pytest.fixture
    def folders(self, tmp_path: Path) -> Callable[[], Path]:
        """New empty folders."""
        numbers = itertools.count()

        def folder() -> Path:
            made = tmp_path / f"checkpoint-{next(numbers)}"
            made.mkdir()
            return made

        return folder

    def test_what_was_written_is_read(
        self, write: Write, read: Callable[[Path], WeightReader], folders: Callable[[], Path]
    ) -> None:
        capabilities = self.capabilities
        dtypes = st.sampled_from(capabilities.dtypes)

        @settings(SEARCH, max_examples=12)
        @given(wanted=st.lists(st.tuples(dtypes, shapes(scalars=capabilities.scalars)), min_size=1, max_size=8))
        def reads(wanted: list[tuple[str, tuple[int, ...]]]) -> None:
            folder, tensors = folders(), make_tensors(wanted)
            write(folder, tensors)
            compare(read(folder), tensors)

        reads()

    @pytest.mark.parametrize("count", [1, 40])
    def test_every_dtype(
        self, write: Write, read: Callable[[Path], WeightReader], folders: Callable[[], Path], count: int
    ) -> None:
        for dtype in self.capabilities.dtypes:
            folder, tensors = folders(), make_tensors([(dtype, (3, 8))] * count)
            write(folder, tensors)
            compare(read(folder), tensors)

    def test_rows(self, write: Write, read: Callable[[Path], WeightReader], tmp_path: Path) -> None:
        tensors = make_tensors([(dtype, (9, 4)) for dtype in self.capabilities.dtypes])
        write(tmp_path, tensors)
        reader = read(tmp_path)
        for name, tensor in tensors.items():
            for rows in (slice(0, 9), slice(2, 5), slice(8, 9), slice(4, None), slice(None, 3), slice(3, 3)):
                part = reader.read(name, rows)
                check(
                    part.shape == tensor[rows].shape and equal(part, tensor[rows]),
                    "read() with a slice must return those rows of the tensor, and no others",
                )

    def test_patterns_find_the_files(
        self, offered: Offered[WeightFormatOffer], write: Write, read: Callable[[Path], WeightReader], tmp_path: Path
    ) -> None:
        write(tmp_path, make_tensors([(self.capabilities.dtypes[0], (2, 2))]))
        check(
            offered.offer.patterns and matching(tmp_path, offered.offer.patterns),
            "`patterns` of the offer must match the files of the format: that is how a folder's format is found",
        )

    def test_sizes(self, write: Write, read: Callable[[Path], WeightReader], tmp_path: Path) -> None:
        tensors = make_tensors([(dtype, (128, 65)) for dtype in self.capabilities.dtypes])
        write(tmp_path, tensors)
        reader = read(tmp_path)
        sizes = {name: reader.nbytes(name) for name in tensors}
        on_disk = sum(path.stat().st_size for path in files_of(tmp_path))
        said = "nbytes() must be the bytes that a tensor takes in its file, and nbytes() without a name their sum"
        check(min(sizes.values()) > 0 and reader.nbytes() == sum(sizes.values()) <= on_disk, said)
        check(2 * reader.nbytes() > on_disk - 4096, said)
        name = next(iter(tensors))
        alone = tmp_path / "alone"
        alone.mkdir()
        write(alone, {name: tensors[name]})
        check(
            read(alone).nbytes(name) == sizes[name],
            "nbytes() of a tensor must be the same whatever else its file holds: headers are not part of it",
        )

    def test_an_unknown_tensor_is_refused(
        self, write: Write, read: Callable[[Path], WeightReader], tmp_path: Path
    ) -> None:
        write(tmp_path, make_tensors([(self.capabilities.dtypes[0], (2, 2))]))
        reader = read(tmp_path)
        for ask in (reader.read, reader.shape):
            message = refusal(lambda ask=ask: ask("layers.7.unheard_of"))  # type: ignore[misc]
            check(
                message is not None and "layers.7.unheard_of" in message,
                f"{ask.__name__}() of a tensor that is not there must raise WeightsError, naming the tensor",
            )

    def test_an_empty_folder_is_refused(self, read: Callable[[Path], WeightReader], tmp_path: Path) -> None:
        message = refusal(lambda: read(tmp_path))
        check(message is not None and str(tmp_path) in message, "an empty folder must raise WeightsError, naming it")

    def test_a_damaged_file_is_named(
        self, write: Write, read: Callable[[Path], WeightReader], folders: Callable[[], Path]
    ) -> None:
        tensors = make_tensors([(self.capabilities.dtypes[0], (64, 8))] * 3)
        for damage in damages(changed=self.capabilities.checksums):
            folder = folders()
            write(folder, tensors)
            victim = max(files_of(folder), key=lambda path: path.stat().st_size)
            victim.write_bytes(damage.of(victim.read_bytes()))
            message = refusal(lambda folder=folder: read_all(read(folder)))  # type: ignore[misc]
            check(message is not None, f"a file {damage.what} must raise WeightsError when it is opened or read")
            check(
                victim.name in (message or ""),
                "the error of a damaged file must name the file: the user has to know which one to fetch again",
            )

    def test_several_files(
        self, write: Write, read: Callable[[Path], WeightReader], folders: Callable[[], Path]
    ) -> None:
        if not self.capabilities.several_files:
            pytest.skip("one file a folder")
        tensors = make_tensors([(dtype, (5, 3)) for dtype in self.capabilities.dtypes * 3])
        folder = folders()
        for index, (name, tensor) in enumerate(tensors.items()):
            spread(write, folders(), folder, index, {name: tensor})
        try:
            reader = read(folder)
        except WeightsError as error:
            check(ok=False, sentence=f"a folder of several files must be read as one checkpoint, but: {error}")
        compare(reader, tensors, "a folder of several files must be read as one checkpoint")
        name, tensor = next(iter(tensors.items()))
        spread(write, folders(), folder, 99, {name: tensor})
        message = refusal(lambda: read(folder))
        check(
            message is not None and name in message,
            "a tensor that two files of a folder hold must raise WeightsError, naming the tensor",
        )

    def test_earlier_tensors_stay(self, write: Write, read: Callable[[Path], WeightReader], tmp_path: Path) -> None:
        tensors = make_tensors([(self.capabilities.dtypes[0], (8, 8))] * 6)
        write(tmp_path, tensors)
        reader = read(tmp_path)
        found = {name: reader.read(name) for name in tensors}
        check(
            all(equal(found[name], tensor) for name, tensor in tensors.items()),
            "a tensor must keep its values when another is read after it",
        )

    def test_readers_share_nothing(self, write: Write, read: Callable[[Path], WeightReader], tmp_path: Path) -> None:
        tensors = make_tensors([(self.capabilities.dtypes[0], (8, 8))] * 3)
        write(tmp_path, tensors)
        found, again = read_all(read(tmp_path)), read_all(read(tmp_path))
        places = [{one.untyped_storage().data_ptr() for one in held.values()} for held in (found, again)]
        check(
            not places[0] & places[1],
            "two readers must share nothing: what is written into a tensor of one must not show in the other's",
        )

    def test_subfolders_are_not_read(
        self, offered: Offered[WeightFormatOffer], write: Write, read: Callable[[Path], WeightReader], tmp_path: Path
    ) -> None:
        if any("/" in pattern for pattern in offered.offer.patterns):
            pytest.skip("the format's files lie in folders")
        (tmp_path / "original").mkdir()
        write(tmp_path / "original", {"original": random_tensor(self.capabilities.dtypes[0], (2, 2), 1)})
        write(tmp_path, {"mine": random_tensor(self.capabilities.dtypes[0], (2, 2), 2)})
        try:
            names = list(read(tmp_path).names())
        except WeightsError as error:
            names = [str(error)]
        check(
            names == ["mine"],
            "files in subfolders are not the checkpoint's: a folder may hold the original weights in another form",
        )

    def test_two_threads_may_read(self, write: Write, read: Callable[[Path], WeightReader], tmp_path: Path) -> None:
        tensors = make_tensors([(self.capabilities.dtypes[0], (64, 32))] * 12)
        write(tmp_path, tensors)
        reader = read(tmp_path)
        check(
            all(read_in_threads(reader, tensors, threads=4, rounds=12)),
            "two threads may read from one reader at a time, and each must get its own tensors",
        )

    def test_nothing_is_read_early(self, write: Write, read: Callable[[Path], WeightReader], tmp_path: Path) -> None:
        if not self.capabilities.lazy or bytes_read() is None:
            pytest.skip("the format reads all at once, or the system does not tell")
        dtype = getattr(torch, self.capabilities.dtypes[0])
        small = random_tensor(self.capabilities.dtypes[0], (4, 4), 1)
        write(tmp_path, {"large": torch.ones(LARGE // dtype.itemsize // 64, 64, dtype=dtype), "small": small})
        before = bytes_read()
        reader = read(tmp_path)
        for name in reader.names():
            reader.shape(name)
            reader.nbytes(name)
        check(equal(reader.read("small"), small), "read() must return the tensor's values")
        after = bytes_read()
        assert before is not None
        assert after is not None
        check(
            after - before < LARGE // 2,
            "names, shapes, sizes and the reading of one tensor must not read the others: readers are lazy",
        )

    def test_files_are_let_go(self, write: Write, read: Callable[[Path], WeightReader], tmp_path: Path) -> None:
        tensors = make_tensors([(self.capabilities.dtypes[0], (8, 8))] * 3)
        write(tmp_path, tensors)
        for _ in range(3):
            read_all(read(tmp_path))
        gc.collect()
        check(not open_files(tmp_path), "once a reader and its tensors are gone, its files must not stay open")


def compare(reader: WeightReader, tensors: Mapping[str, Tensor], sentence: str = "") -> None:
    """Holds a reader against what was written.

    Raises:
        ConformanceError: they differ.
    """
    check(
        sorted(reader.names()) == sorted(tensors),
        sentence or "names() must list every tensor of the folder, once, as it was written",
    )
    for name, tensor in tensors.items():
        shape = reader.shape(name)
        check(
            type(shape) is tuple and shape == tuple(tensor.shape),
            "shape() must be the shape that was written, as a tuple of int",
        )
        found = reader.read(name)
        check(found.shape == tensor.shape, "read() must return a tensor of the shape that was written")
        check(found.device.type == "cpu", "read() must return a tensor on the host")
        check(found.dtype == tensor.dtype, "read() must return the file's dtype: conversion is the loader's work")
        check(equal(found, tensor), "read() must return the tensor's values, bit for bit")


def read_all(reader: WeightReader) -> dict[str, Tensor]:
    """All tensors."""
    return {name: reader.read(name) for name in reader.names()}


def refusal(call: Callable[[], object]) -> str | None:
    """The message of the WeightsError that a call raises; None for any other end."""
    try:
        call()
    except WeightsError as error:
        return str(error)
    except Exception:  # noqa: BLE001 - another exception is the wrong answer, whatever it is
        return None
    return None


def read_in_threads(reader: WeightReader, tensors: Mapping[str, Tensor], *, threads: int, rounds: int) -> list[bool]:
    """Whether each thread read what was written, each time."""
    start = threading.Barrier(threads)
    good = [False] * threads

    def work(index: int) -> None:
        start.wait()
        names = list(tensors)[index:] + list(tensors)[:index]
        good[index] = all(equal(reader.read(name), tensors[name]) for _ in range(rounds) for name in names)

    running = [threading.Thread(target=work, args=(index,), daemon=True) for index in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(60)
    return good
