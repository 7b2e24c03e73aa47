"""Wrong quantization methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import msgspec
import pytest
import torch
from torch import Tensor

from kernelet.config import ModelConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import WeightScheme
from kernelet.contracts.quant import QuantizationConfig, QuantizationMethod, QuantLayer, QuantOffer
from kernelet.testing.faults import Fault
from kernelet.testing.offered import Offered
from kernelet.testing.quantization.layers import model_config
from kernelet.testing.quantization.reference import PLAIN4, Plain4, ReferenceInt8, store_plain4
from kernelet.testing.quantization.suite import Excluding, QuantizationCapabilities, QuantizationSuite, Store

CONFIG = {"quant_method": PLAIN4}


def offered_of(method: type[Any], **fields: Any) -> Offered[QuantOffer]:
    """The method as a plugin offers it."""
    offer = QuantOffer(name="faulty", target=f"{method.__module__}:{method.__qualname__}", **fields)
    return Offered(offer=offer, settings=Settings(plugin="faulty"), target=method)


def suite_of(method: type[Any], *, online: bool = True) -> type[QuantizationSuite]:
    """The suite as the author of a method writes it that quantizes at load."""

    class Faulty(QuantizationSuite):
        capabilities = QuantizationCapabilities(error=0.03)

        @pytest.fixture
        def offered(self) -> Offered[QuantOffer]:
            return offered_of(method, online=online)

        @pytest.fixture
        def excluding(self) -> Excluding | None:
            def make(entries: Sequence[str]) -> QuantizationMethod:
                settings = Settings(plugin="faulty", values={"exclude": ",".join(entries)})
                made: QuantizationMethod = method(settings, None, model_config("faulty", None))
                return made

            return make

    return Faulty


def suite_of_format(method: type[Any], names: tuple[str, ...] = (PLAIN4,)) -> type[QuantizationSuite]:
    """The suite as the author of a format writes it."""

    class Faulty(QuantizationSuite):
        capabilities = QuantizationCapabilities(config=CONFIG)

        @pytest.fixture
        def offered(self) -> Offered[QuantOffer]:
            return offered_of(method, names=names)

        @pytest.fixture
        def store(self) -> Store:
            return store_plain4

        @pytest.fixture
        def excluding(self) -> Excluding | None:
            def make(entries: Sequence[str]) -> QuantizationMethod:
                config = {**CONFIG, "skip": list(entries)}
                made: QuantizationMethod = method(Settings(plugin="f"), config, model_config("f", config))
                return made

            return make

    return Faulty


class NotAMethod:
    def __init__(self, *_: object) -> None:
        """Takes anything."""


class Nothing(ReferenceInt8):
    def scheme(self, layer: QuantLayer) -> WeightScheme | None:
        return None


class NoForm(ReferenceInt8):
    """A scheme that nobody knows."""

    def scheme(self, layer: QuantLayer) -> WeightScheme | None:
        found = super().scheme(layer)
        return found and msgspec.structs.replace(found, element="int9")


class EveryOther(ReferenceInt8):
    """Counts what it is asked."""

    def __init__(self, settings: Settings, config: QuantizationConfig | None, model: ModelConfig) -> None:
        super().__init__(settings, config, model)
        self.asked = count()

    def scheme(self, layer: QuantLayer) -> WeightScheme | None:
        return None if next(self.asked) % 2 else super().scheme(layer)


class Halves(ReferenceInt8):
    """Takes the scale for the largest half."""

    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        found = dict(super().canonical(layer, stored))
        return found | {"scales": found["scales"] * 2}


class OneDimension(ReferenceInt8):
    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        found = dict(super().canonical(layer, stored))
        return found | {"scales": found["scales"].flatten()}


class DividesByZero(ReferenceInt8):
    """Rows of zeros have no scale."""

    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        found = dict(super().canonical(layer, stored))
        empty = stored["weight"].abs().amax(1, keepdim=True) == 0
        return found | {"scales": found["scales"].masked_fill(empty, torch.nan)}


class InPlace(ReferenceInt8):
    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        found = super().canonical(layer, stored)
        stored["weight"].mul_(0)
        return found


class OneScale(ReferenceInt8):
    """A scale of all rows, though a row was promised its own."""

    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        found = dict(super().canonical(layer, stored))
        scales = found["scales"]
        smallest = scales[scales != 1].amin() if bool((scales != 1).any()) else scales.amin()
        rounded = scales.new_tensor(2.0) ** (scales / smallest).log2().ceil() * smallest
        weight = (stored["weight"].float() / rounded).round().to(torch.int8)
        return {"weight": weight, "scales": rounded}


class Dithers(ReferenceInt8):
    """Rounds by chance."""

    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        found = dict(super().canonical(layer, stored))
        exact = stored["weight"].double() / found["scales"].double()
        noise = torch.rand(exact.shape, dtype=torch.float64)
        return found | {"weight": (exact + noise).floor().clamp(-127, 127).to(torch.int8)}


class HalfScales(ReferenceInt8):
    """Goes through float16."""

    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        found = dict(super().canonical(layer, stored))
        scales = found["scales"].clamp(max=65504).half().float()
        return found | {"scales": scales}


class TakesAnything(ReferenceInt8):
    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return super().canonical(layer, {"weight": stored["weight"].nan_to_num(0, 1, -1)})


class IgnoresTheCheckpoint(ReferenceInt8):
    def __init__(self, settings: Settings, config: QuantizationConfig | None, model: ModelConfig) -> None:
        super().__init__(settings, None, model)


class Substrings(ReferenceInt8):
    """Takes ``layers.1`` for a part of ``layers.10``."""

    def scheme(self, layer: QuantLayer) -> WeightScheme | None:
        listed = [entry for entry in str(self.settings.values.get("exclude", "")).split(",") if entry]
        return None if any(entry in layer.name for entry in listed) else super().scheme(layer)


class SaysNothing(ReferenceInt8):
    def unused(self) -> Sequence[str]:
        return ()


class HighHalfFirst(Plain4):
    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        found = dict(super().canonical(layer, stored))
        rows, columns = found["weight"].shape
        return found | {"weight": found["weight"].view(rows, -1, 2).flip(2).reshape(rows, columns)}


class OtherNames(Plain4):
    def stored(self, layer: QuantLayer) -> Sequence[str]:
        return ("weight",)


class IgnoresScales(Plain4):
    def ignored(self) -> Mapping[str, str]:
        return {r".*scales?": "scales of a cache"}


class TakesCutTensors(Plain4):
    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        rows, columns = layer.shape
        packed = torch.zeros(rows, columns // 2, dtype=torch.uint8)
        given = stored.get("packed", packed)
        packed[:, : given.shape[1]] = given
        scales = torch.zeros(rows, -(-columns // 32), dtype=torch.float16)
        given = stored.get("scales", scales)
        scales[:, : given.shape[1]] = given
        return super().canonical(layer, {"packed": packed, "scales": scales})


_ONLINE: tuple[tuple[str, type[Any], str], ...] = (
    ("is-no-method", NotAMethod, "is no QuantizationMethod"),
    ("quantizes-nothing", Nothing, "no module of a usual model is quantized"),
    ("invents-an-element", NoForm, "must be one that has a canonical form, or be opaque"),
    ("counts-questions", EveryOther, "must say the same of a module each time"),
    ("doubles-the-scales", Halves, "must stand for the weight, with an error of at most"),
    ("scales-without-an-axis", OneDimension, "must make the tensors that the scheme says"),
    ("no-scale-for-zeros", DividesByZero, "of a finite weight must stand for finite values"),
    ("changes-what-it-is-given", InPlace, "must leave what it is given as it is"),
    ("one-scale-for-many-rows", OneScale, "a row must be stored alike whatever rows come with it"),
    ("rounds-by-chance", Dithers, "must make the same of the same each time"),
    ("half-precision-scales", HalfScales, "all very small or very large must not be lost"),
    ("takes-nan", TakesAnything, "infinite or no numbers must raise WeightsError"),
    ("ignores-the-checkpoint", IgnoresTheCheckpoint, "a configuration of another method, or a field"),
    ("substrings", Substrings, "if and only if whole components of its name are listed"),
    ("unused-entries-are-lost", SaysNothing, "unused() must name the entries"),
)

_FORMATS: tuple[tuple[str, type[Any], str], ...] = (
    ("high-half-first", HighHalfFirst, "must stand for exactly the weight that the checkpoint stores"),
    ("reads-other-tensors", OtherNames, "stored() must name the tensors"),
    ("ignores-its-scales", IgnoresScales, "ignored() must match no tensor of a module"),
    ("takes-cut-tensors", TakesCutTensors, "a tensor that is cut short or missing must raise WeightsError"),
)

FAULTS = (
    *(Fault(name=name, suite=suite_of(method), says=says) for name, method, says in _ONLINE),
    *(Fault(name=name, suite=suite_of_format(method), says=says) for name, method, says in _FORMATS),
    Fault(
        name="is-not-online",
        suite=suite_of(ReferenceInt8, online=False),
        says="a method that reads no quantized checkpoint must say that it is online",
    ),
    Fault(
        name="is-not-found",
        suite=suite_of_format(Plain4, names=("plain-4",)),
        says="`names` of the offer must hold what `quant_method` is",
    ),
)
