"""The suite of writers of quantized checkpoints: what they write is nearly the model, and its reader reads it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import safetensors.torch
import torch
from torch import Tensor

from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import QuantizationMethod, QuantizerOffer
from kernelet.contracts.quantizing import Quantizer
from kernelet.errors import WeightsError
from kernelet.testing.offered import Offered
from kernelet.testing.quantizer.source import RandomSource
from kernelet.testing.suite import Suite
from kernelet.testing.verdict import check
from kernelet.testing.weight_kernel.reference import dequantize

Read = Callable[[Path], Mapping[str, Tensor]]
EXCLUDED = "model.layers.1.mlp.down_proj"


@dataclass(frozen=True, kw_only=True)
class QuantizerCapabilities:
    """What a writer does.

    Attributes:
        error: Largest difference of what the kit's random model computes, relative to what it computes.
    """

    error: float = 0.4


class QuantizerSuite(Suite):
    """Fixtures ``offered``: ``find_offer("acme_kernelet.plugin", QuantizerOffer)``; ``read``."""

    capabilities: ClassVar[QuantizerCapabilities] = QuantizerCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[QuantizerOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', QuantizerOffer)")

    @pytest.fixture
    def read(self) -> Read:
        """Reads a folder that was written: all tensors of the model under the names that it has for them, as floats.

        A format in Hugging Face's form gives ``read_with(make)``, where ``make`` makes its ``QuantizationMethod``.
        """
        raise NotImplementedError(
            "give the fixture `read`: read_with(lambda config: YourMethod(settings, config, model))"
        )

    @pytest.fixture
    def write(self, offered: Offered[QuantizerOffer], tmp_path: Path) -> Callable[..., Path]:
        """Makes the writer as ``kernelet quantize`` does, and writes a source into a folder."""

        def write(source: RandomSource, name: str = "out", done: list[str] | None = None) -> Path:
            folder = tmp_path / name
            folder.mkdir()
            told: list[str] = [] if done is None else done
            make(offered).write(source, folder, told.append)
            return folder

        return write

    def test_it_is_made_with_its_options(self, offered: Offered[QuantizerOffer]) -> None:
        target = offered.target
        is_writer = isinstance(target, type) and issubclass(target, Quantizer)
        check(is_writer, f"{offered.offer.target} is no Quantizer")
        settings = make(offered).settings
        check(
            dict(settings.values) == {key: option.default for key, option in offered.offer.options.items()},
            "__init__() must keep the settings that it is given: they hold each of the offer's options",
        )

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
    def test_what_is_written_is_nearly_the_model(
        self, write: Callable[..., Path], read: Read, dtype: torch.dtype
    ) -> None:
        source, plain = RandomSource(dtype), RandomSource(dtype)
        found = {name: tensor.float() for name, tensor in read(write(source)).items()}
        missing = sorted(set(source.tensors) - set(found))
        check(not missing, f"all of the model must be written: {', '.join(missing[:3])} is not there")
        shapes = all(found[name].shape == plain.values[name].shape for name in source.tensors)
        check(shapes, "what is written must have the shapes of the model")
        expected, output = (plain.output({k: v.float() for k, v in one.items()}) for one in (plain.values, found))
        error = float((output - expected).norm() / expected.norm())
        check(error == error, "what is written must be finite")  # noqa: PLR0124 - NaN is not equal to itself
        check(error > 0, "the weights that are written must be quantized: they are those of the model")
        check(
            error <= self.capabilities.error,
            f"what is written must compute what the model does, up to {self.capabilities.error} of it",
        )

    def test_every_module_is_told_of(self, write: Callable[..., Path]) -> None:
        source, done = RandomSource(), list[str]()
        write(source, done=done)
        names = [layer.name for layer in source.layers]
        check(
            bool(done) and set(done) <= set(names) and len(set(done)) == len(done),
            "progress() must be called with the name of each module once it is done, once",
        )

    def test_excluded_modules_stay_as_they_are(self, write: Callable[..., Path], read: Read) -> None:
        source = RandomSource(excluded=[EXCLUDED])
        found, name = read(write(source)), f"{EXCLUDED}.weight"
        check(
            name in found and torch.equal(found[name].float(), source.values[name].float()),
            "a module that source.excluded() names must be written as source.tensor() has it, and be read so",
        )

    def test_the_same_each_time(self, write: Callable[..., Path]) -> None:
        one, other = (contents(write(RandomSource(), name)) for name in ("one", "other"))
        check(one == other, "the same model must be written as the same bytes each time")

    def test_nothing_is_left_beside_the_checkpoint(self, write: Callable[..., Path], tmp_path: Path) -> None:
        folder = write(RandomSource())
        check(bool(contents(folder)), "write() must write into the folder that it is given")
        check(list(tmp_path.iterdir()) == [folder], "write() must leave nothing beside the folder that it is given")

    @pytest.mark.parametrize("wrong", [torch.nan, torch.inf], ids=["nan", "inf"])
    def test_a_damaged_weight_is_named(self, write: Callable[..., Path], wrong: float) -> None:
        source = RandomSource()
        name = "model.layers.2.self_attn.q_proj"
        source.values[f"{name}.weight"][3, 7] = wrong
        message = ""
        try:
            write(source)
        except WeightsError as error:
            message = str(error)
        except Exception as error:  # noqa: BLE001 - another exception is the wrong answer, whatever it is
            message = type(error).__name__
        check(
            name in message,
            "a weight with values that are infinite or no numbers must raise WeightsError, naming the module",
        )


def make(offered: Offered[QuantizerOffer]) -> Quantizer:
    """The writer with the defaults of its options."""
    values = {key: option.default for key, option in offered.offer.options.items()}
    made: Quantizer = offered.target(Settings(plugin=offered.settings.plugin, values=values))
    return made


def read_with(make_method: Callable[[Mapping[str, Any]], QuantizationMethod]) -> Read:
    """Reads checkpoints in Hugging Face's form: what the method says of each module, dequantized by the kit.

    Args:
        make_method: Makes the method from ``quantization_config``.
    """

    def read(folder: Path) -> Mapping[str, Tensor]:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))["quantization_config"]
        method = make_method(config)
        stored: dict[str, Tensor] = {}
        for path in sorted(folder.glob("*.safetensors")):
            stored |= safetensors.torch.load_file(path)
        for layer in RandomSource().layers:
            if (scheme := method.scheme(layer)) is not None:
                wanted = {suffix: f"{layer.name}.{suffix}" for suffix in method.stored(layer)}
                missing = [name for name in wanted.values() if name not in stored]
                check(not missing, f"the method reads {', '.join(missing)}, which was not written")
                tensors = {suffix: stored.pop(name) for suffix, name in wanted.items()}
                for suffix in method.optional(layer):
                    if (tensor := stored.pop(f"{layer.name}.{suffix}", None)) is not None:
                        tensors[suffix] = tensor
                stored[f"{layer.name}.weight"] = dequantize(method.canonical(layer, tensors), scheme)
        return stored

    return read


def contents(folder: Path) -> dict[str, bytes]:
    """Files by name."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
