"""Wrong models: the tiny model with one mistake each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.model import HFConfig, Hidden, ModelArchitectureOffer, ModelInfo, StepInputs, WeightReader
from kernelet.contracts.offer import Settings
from kernelet.layers.attention import AttentionLayer
from kernelet.layers.weights import finish
from kernelet.loading.loader import fill
from kernelet.loading.mapping import WeightMap
from kernelet.testing.faults import Fault
from kernelet.testing.model.suite import ModelCapabilities, ModelSuite
from kernelet.testing.offered import Offered
from kernelet.testing.tiny import description, write_checkpoint
from kernelet.testing.tiny.model import TinyModel
from kernelet.testing.tiny.plugin import ARCHITECTURE

DESCRIBE = "kernelet.testing.tiny.description:describe"


def suite_of(model: type[Any] = TinyModel, describe: str = DESCRIBE) -> type[ModelSuite]:
    """The suite as the author of that model writes it."""

    class Faulty(ModelSuite):
        capabilities = ModelCapabilities(taps=True, max_len=12, refuses={"hidden_act": "gelu"})

        @pytest.fixture
        def offered(self) -> Offered[ModelArchitectureOffer]:
            target = f"{model.__module__}:{model.__qualname__}"
            offer = ModelArchitectureOffer(name=ARCHITECTURE, target=target, describe=describe)
            return Offered(offer=offer, settings=Settings(plugin="faulty"), target=model)

        @pytest.fixture
        def checkpoint(self, tmp_path: Path) -> Path:
            return write_checkpoint(
                tmp_path / "checkpoint",
                vocab_size=30,
                hidden_size=16,
                intermediate_size=24,
                head_dim=8,
                layer_types=[description.SLIDING, description.FULL],
                sliding_window=6,
            )

    return Faulty


def takes_anything(config: HFConfig) -> ModelInfo:
    """Looks at no value but sizes."""
    return description.describe({**config, "hidden_act": description.ACTIVATION})


def lets_key_errors_through(config: HFConfig) -> ModelInfo:
    """Reads sizes without looking whether they are there."""
    info = description.describe(config) if "vocab_size" in config else None
    if info is None or config["vocab_size"] != info.vocab_size:
        raise KeyError("vocab_size")
    return info


def needs_torch(config: HFConfig) -> ModelInfo:
    """Looks for the dtype where the frontend has no torch."""
    import torch as found

    return description.describe({**config, "dtype": str(found.float32)})


class SkipsUnknown(TinyModel):
    def load_weights(self, reader: WeightReader) -> Iterator[str]:
        yield from fill(reader, WeightMap(targets=self.targets(), ignored={r"no\.such\..*": "unknown"}))
        finish(self)


class SwallowsNames(TinyModel):
    def load_weights(self, reader: WeightReader) -> Iterator[str]:
        yield from list(super().load_weights(reader))[1:]


class FillsUp(TinyModel):
    """A missing tensor is taken to be zero."""

    def load_weights(self, reader: WeightReader) -> Iterator[str]:
        targets = self.targets()
        missing = targets.keys() - set(reader.names())
        for name in missing:
            target = targets.pop(name)
            part = target.weight.parts[target.part or ""]
            inputs = getattr(target.weight, "inputs", None)
            shape = (part.full,) if inputs is None else (part.full, inputs.full)
            target.weight.write(name, torch.zeros(shape), target.part)
        yield from fill(reader, WeightMap(targets=targets))
        finish(self)


class UsesNoUp(TinyModel):
    """One tensor is read and left unused."""

    def load_weights(self, reader: WeightReader) -> Iterator[str]:
        yield from super().load_weights(reader)
        for layer in self.stack:
            layer.mlp_norm.weight = torch.ones_like(layer.mlp_norm.weight)


class OneName(TinyModel):
    def attention_layers(self) -> Sequence[AttentionLayer]:
        layers = super().attention_layers()
        for layer in layers:
            layer.name = "attention"
        return layers


class SmallPages(TinyModel):
    def attention_layers(self) -> Sequence[AttentionLayer]:
        layers = super().attention_layers()
        for layer in layers:
            layer._page_bytes = 64  # noqa: SLF001
        return layers


class CountsFromZero(TinyModel):
    """Positions begin at 0 in each step."""

    def forward(self, inputs: StepInputs) -> Hidden:
        inputs.positions = torch.arange(len(inputs.positions))
        return super().forward(inputs)


class MeanOfStep(TinyModel):
    """Something depends on all requests of a step."""

    def forward(self, inputs: StepInputs) -> Hidden:
        hidden = super().forward(inputs)
        return Hidden(states=hidden.states - 0.01 * hidden.states.mean(0), taps=hidden.taps)


class KeepsRows(TinyModel):
    def compute_logits(self, states: Tensor) -> Tensor:
        logits = super().compute_logits(states)
        return logits if len(states) > 2 else logits[:1]


class Overflows(TinyModel):
    def compute_logits(self, states: Tensor) -> Tensor:
        return super().compute_logits(states) / 0


class SeesOneToken(TinyModel):
    """Attention adds nothing."""

    def load_weights(self, reader: WeightReader) -> Iterator[str]:
        yield from super().load_weights(reader)
        for layer in self.stack:
            layer.output.prepared = layer.output.kernel.prepare({"weight": torch.zeros(16, 16, dtype=torch.float64)})


class SharesWeights(TinyModel):
    """The head of the process."""

    heads: tuple[Any, ...] = ()

    def load_weights(self, reader: WeightReader) -> Iterator[str]:
        yield from super().load_weights(reader)
        cls = type(self)
        cls.heads = (*cls.heads, self.embedding)

    def forward(self, inputs: StepInputs) -> Hidden:
        object.__setattr__(self, "embedding", type(self).heads[-1])
        return super().forward(inputs)


class TapsAlways(TinyModel):
    def forward(self, inputs: StepInputs) -> Hidden:
        inputs.taps = frozenset(layer.name for layer in self.attention_layers())
        return super().forward(inputs)


class WrongCache(TinyModel):
    def attention_layers(self) -> Sequence[AttentionLayer]:
        layers = super().attention_layers()
        for layer in layers:
            spec = layer.cache_spec()
            if type(spec) is FullAttentionSpec:
                continue
            common = {name: getattr(spec, name) for name in FullAttentionSpec.__struct_fields__}
            object.__setattr__(layer, "cache_spec", lambda common=common: FullAttentionSpec(**common))
        return layers


_HERE = __name__
FAULTS = (
    Fault(
        name="ignores-what-it-does-not-serve",
        suite=suite_of(describe=f"{_HERE}:takes_anything"),
        says="describe() must refuse a value that the model does not serve",
    ),
    Fault(
        name="lets-a-key-error-through",
        suite=suite_of(describe=f"{_HERE}:lets_key_errors_through"),
        says="or raise UnsupportedModelError that names the key",
    ),
    Fault(
        name="describes-with-torch",
        suite=suite_of(describe=f"{_HERE}:needs_torch"),
        says="describe() must import no torch",
    ),
    *(
        Fault(name=name, suite=suite_of(model), says=says)
        for name, model, says in (
            ("ignores-unknown-tensors", SkipsUnknown, "a tensor that the model has no place for must raise"),
            ("does-not-yield-every-name", SwallowsNames, "load_weights() must yield the name of every tensor"),
            ("fills-up-missing-tensors", FillsUp, "a checkpoint that misses a tensor must raise WeightsError"),
            ("reads-a-tensor-for-nothing", UsesNoUp, "every tensor of the checkpoint must be used"),
            ("gives-two-layers-one-name", OneName, "attention layers must have names, each its own"),
            ("understates-its-pages", SmallPages, "page_bytes of cache_spec() must hold the keys and values"),
            ("forgets-the-window-of-its-cache", WrongCache, "must be a SlidingWindowSpec of that window"),
            ("counts-positions-by-step", CountsFromZero, "a prompt that is cut into chunks must have the logits"),
            ("mixes-the-requests-of-a-step", MeanOfStep, "a request must have the same logits among others as alone"),
            ("drops-rows-of-logits", KeepsRows, "compute_logits() must give each row the logits"),
            ("overflows", Overflows, "logits must be finite"),
            ("forgets-what-it-has-seen", SeesOneToken, "must depend on the token before it"),
            ("shares-weights-between-models", SharesWeights, "two models in one process must share nothing"),
            ("returns-taps-unasked", TapsAlways, "taps that nobody asked for must not be returned"),
        )
    ),
)
