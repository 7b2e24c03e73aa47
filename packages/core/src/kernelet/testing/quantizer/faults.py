"""Wrong writers of quantized checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from kernelet.contracts.offer import Option, Settings
from kernelet.contracts.quant import QuantizerOffer, QuantLayer
from kernelet.contracts.quantizing import Progress, QuantizerSource
from kernelet.testing.faults import Fault
from kernelet.testing.offered import Offered
from kernelet.testing.quantization.layers import model_config
from kernelet.testing.quantization.reference import PLAIN4, Plain4
from kernelet.testing.quantizer.reference import Plain4Writer, pack
from kernelet.testing.quantizer.suite import QuantizerSuite, Read, read_with


def suite_of(writer: type[Any]) -> type[QuantizerSuite]:
    """The suite as the author of a writer writes it."""

    class Faulty(QuantizerSuite):
        @pytest.fixture
        def offered(self) -> Offered[QuantizerOffer]:
            options = {"bits": Option(type=int, default=4)}
            offer = QuantizerOffer(name="faulty", target=f"{writer.__module__}:{writer.__qualname__}", options=options)
            return Offered(offer=offer, settings=Settings(plugin="faulty"), target=writer)

        @pytest.fixture
        def read(self) -> Read:
            return read_with(lambda config: Plain4(Settings(plugin="faulty"), config, model_config(PLAIN4, config)))

    return Faulty


class NoWriter:
    settings = Settings(plugin="faulty", values={"bits": 4})

    def __init__(self, settings: Settings) -> None:
        """Takes anything."""

    def write(self, source: QuantizerSource, folder: Path, progress: Progress) -> None:
        Plain4Writer(self.settings).write(source, folder, progress)


class ForgetsOptions(Plain4Writer):
    def __init__(self, settings: Settings) -> None:
        super().__init__(Settings(plugin=settings.plugin))


class SkipsAll(Plain4Writer):
    def skips(self, source: QuantizerSource, layer: QuantLayer) -> bool:
        return True


class SwapsHalves(Plain4Writer):
    """The odd columns are in the low half."""

    def made(self, source: QuantizerSource) -> Iterator[tuple[QuantLayer, Mapping[str, Tensor]]]:
        for layer, tensors in super().made(source):
            packed = tensors["packed"]
            yield layer, {**tensors, "packed": packed >> 4 | packed << 4}


class LosesNorms(Plain4Writer):
    """Writes quantized modules only."""

    def write(self, source: QuantizerSource, folder: Path, progress: Progress) -> None:
        values = getattr(source, "values", {})
        for name in [name for name in values if "layernorm" in name]:
            del values[name]
        super().write(source, folder, progress)


class TellsOfNothing(Plain4Writer):
    def write(self, source: QuantizerSource, folder: Path, progress: Progress) -> None:
        super().write(source, folder, lambda _: None)


class QuantizesAll(Plain4Writer):
    def skips(self, source: QuantizerSource, layer: QuantLayer) -> bool:
        return layer.role == "embedding" or layer.head


class DatesItsFiles(Plain4Writer):
    """The configuration says which run it was."""

    run = count()

    def write(self, source: QuantizerSource, folder: Path, progress: Progress) -> None:
        super().write(source, folder, progress)
        (folder / "run.json").write_text(str(next(self.run)), encoding="utf-8")


class WritesBeside(Plain4Writer):
    def write(self, source: QuantizerSource, folder: Path, progress: Progress) -> None:
        super().write(source, folder, progress)
        (folder.parent / "log").write_text("done", encoding="utf-8")


class TakesAnything(Plain4Writer):
    """NaN becomes some number."""

    def made(self, source: QuantizerSource) -> Iterator[tuple[QuantLayer, Mapping[str, Tensor]]]:
        for layer in source.layers:
            if not self.skips(source, layer):
                weight = source.tensor(f"{layer.name}.weight")
                yield layer, pack(weight.nan_to_num(0, 0, 0))


_WRITERS: tuple[tuple[str, type[Any], str], ...] = (
    ("is-no-quantizer", NoWriter, "is no Quantizer"),
    ("forgets-its-options", ForgetsOptions, "__init__() must keep the settings that it is given"),
    ("quantizes-nothing", SkipsAll, "the weights that are written must be quantized"),
    ("swaps-halves-of-bytes", SwapsHalves, "what is written must compute what the model does"),
    ("loses-norms", LosesNorms, "all of the model must be written"),
    ("tells-of-no-progress", TellsOfNothing, "progress() must be called with the name of each module"),
    ("quantizes-excluded-modules", QuantizesAll, "a module that source.excluded() names must be written as"),
    ("writes-the-date", DatesItsFiles, "must be written as the same bytes each time"),
    ("writes-beside-the-folder", WritesBeside, "must leave nothing beside the folder"),
    ("takes-nan", TakesAnything, "infinite or no numbers must raise WeightsError, naming the module"),
)

FAULTS = tuple(Fault(name=name, suite=suite_of(writer), says=says) for name, writer, says in _WRITERS)
