"""The suite of models: what is said of one, how it loads, and that a token's logits depend on its own request alone."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from kernelet.contracts.model import HFConfig, Model, ModelArchitectureOffer, ModelInfo, WeightReader
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet.kernel.imports import import_string
from kernelet.loading.safetensors import SafetensorsReader
from kernelet.testing.model.layers import check_layers
from kernelet.testing.model.paged import PagedRun, all_logits
from kernelet.testing.model.readers import ChangedReader, WatchedReader, longer, shifted, with_more, without
from kernelet.testing.offered import Offered
from kernelet.testing.suite import Suite
from kernelet.testing.tensors import check_close, make_context
from kernelet.testing.verdict import check
from kernelet.testing.without import call_without

TRIED = 8
"""Tensors of a checkpoint that are lost, lengthened or changed in turn."""

ReferenceLogits = Callable[[Sequence[int]], Any]
"""Token ids to logits [tokens, vocab], computed by something else."""


@dataclass(frozen=True, kw_only=True)
class ModelCapabilities:
    """What a model serves.

    Attributes:
        dtype: In which it is run here: ``"float64"``, unless it cannot.
        tolerance: Of logits, relative to 1 + their size, between runs that must agree.
        reference_tolerance: The same, against ``reference_logits``.
        max_len: Tokens of the longest request here.
        block_size: Tokens a block of the cache.
        taps: It gives the output of every layer of ``attention_layers`` under the layer's name.
        refuses: Changes of config.json that it does not serve, by the key that its error must name.
    """

    dtype: str = "float64"
    tolerance: float = 1e-9
    reference_tolerance: float = 1e-4
    max_len: int = 40
    block_size: int = 4
    taps: bool = False
    refuses: Mapping[str, Any] = field(default_factory=dict)


class ModelSuite(Suite):
    """Fixtures ``offered``: ``find_offer("acme_kernelet.plugin", ModelArchitectureOffer)``, and ``checkpoint``."""

    capabilities: ClassVar[ModelCapabilities] = ModelCapabilities()

    @pytest.fixture(autouse=True)
    def one_thread(self) -> Iterator[None]:
        """A tiny model is slower on several threads."""
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(before)

    @pytest.fixture
    def offered(self) -> Offered[ModelArchitectureOffer]:
        raise NotImplementedError(
            "give the fixture `offered`: find_offer('your_package.plugin', ModelArchitectureOffer, 'YourForCausalLM')"
        )

    @pytest.fixture
    def checkpoint(self) -> Path:
        raise NotImplementedError(
            "give the fixture `checkpoint`: a folder with config.json and the weights of a tiny model"
        )

    @pytest.fixture
    def reference_logits(self) -> ReferenceLogits | None:
        """Logits of a sequence by another implementation of the model; None: there is none to compare with."""
        return None

    @pytest.fixture
    def config(self, checkpoint: Path) -> dict[str, Any]:
        """config.json."""
        values: dict[str, Any] = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
        return values

    @pytest.fixture
    def reader(self, checkpoint: Path) -> WeightReader:
        """The checkpoint's weights; another format than safetensors is opened by an override."""
        return SafetensorsReader(checkpoint)

    @pytest.fixture
    def describe(self, offered: Offered[ModelArchitectureOffer]) -> Callable[[HFConfig], ModelInfo]:
        """What the offer names."""
        found: Callable[[HFConfig], ModelInfo] = import_string(offered.offer.describe)
        return found

    @pytest.fixture
    def build(self, offered: Offered[ModelArchitectureOffer], config: dict[str, Any]) -> Callable[[], Model]:
        """Makes a model as a worker does; its weights are not loaded."""

        def build() -> Model:
            wanted = self.capabilities
            context = make_context(
                config,
                architecture=offered.offer.name,
                max_model_len=wanted.max_len,
                dtype=getattr(torch, wanted.dtype),
                block_size=wanted.block_size,
            )
            model: Model = offered.target(context)
            return model

        return build

    @pytest.fixture
    def load(self, build: Callable[[], Model], reader: WeightReader) -> Callable[..., Model]:
        """Makes a model and loads it, from the checkpoint or from another reader."""

        def load(other: WeightReader | None = None) -> Model:
            model = build()
            with torch.inference_mode():
                for _ in model.load_weights(other or reader):
                    pass
            return model

        return load

    def test_description(
        self,
        offered: Offered[ModelArchitectureOffer],
        describe: Callable[[HFConfig], ModelInfo],
        config: dict[str, Any],
        load: Callable[..., Model],
    ) -> None:
        check(
            offered.offer.name in config.get("architectures", ()),
            "the offer's name must be what config.json says in `architectures`: that is how a model is found",
        )
        before = json.dumps(config)
        info = describe(config)
        check(isinstance(info, ModelInfo), "describe() must return a ModelInfo")
        check(json.dumps(config) == before, "describe() must not change the configuration")
        check(describe(config) == info, "describe() must say the same of the same configuration")
        sizes = (info.vocab_size, info.max_model_len, info.num_layers, info.hidden_size)
        check(
            all(type(size) is int and size > 0 for size in sizes),
            "vocab_size, max_model_len, num_layers and hidden_size of describe() must be positive int",
        )
        run = PagedRun(load(), 1, 4)
        hidden = run.forward(run.inputs({0: [0, 1, 0]}))
        logits = run.step({0: [0, 1, 0]})[0]
        check(info.hidden_size == hidden.states.shape[-1], "hidden_size of describe() must be the states' width")
        check(info.vocab_size == logits.shape[-1], "vocab_size of describe() must be the number of logits")

    def test_description_without_torch(self, offered: Offered[ModelArchitectureOffer], config: dict[str, Any]) -> None:
        answer = call_without("torch", offered.offer.describe, config)
        where = "; ".join(answer["attempts"])
        check(not where, f"describe() must import no torch: the frontend has none; it imports {where}")
        check(answer["error"] is None, f"describe() must work in a fresh process, but raised {answer['error']}")

    def test_a_configuration_that_is_not_served_is_refused(
        self, describe: Callable[[HFConfig], ModelInfo], config: dict[str, Any]
    ) -> None:
        for key in config:
            rest = {name: value for name, value in config.items() if name != key}
            error = _refusal(describe, rest)
            check(
                error is None or key in error or key == "architectures",
                f"describe() must take a config.json without {key!r}, or raise UnsupportedModelError that names the "
                f"key, but: {error}",
            )
        for key, value in self.capabilities.refuses.items():
            error = _refusal(describe, {**config, key: value})
            check(
                error is not None and key in error,
                "describe() must refuse a value that the model does not serve, naming the key in config.json",
            )

    def test_every_tensor_is_consumed(self, build: Callable[[], Model], reader: WeightReader) -> None:
        watched = WatchedReader(reader)
        with torch.inference_mode():
            yielded = list(build().load_weights(watched))
        check(
            sorted(yielded) == sorted(reader.names()),
            "load_weights() must yield the name of every tensor in the checkpoint, once, when it was consumed",
        )
        check(max(watched.reads.values()) == 1, "load_weights() must read every tensor once")

    def test_a_wrong_checkpoint_is_refused(self, load: Callable[..., Model], reader: WeightReader) -> None:
        for name in _tried(_needed(load, reader)):
            message = _weights_error(load, ChangedReader(reader, without(name)))
            check(
                message is not None and name in message,
                "a checkpoint that misses a tensor must raise WeightsError, naming the tensor",
            )
            message = _weights_error(load, ChangedReader(reader, longer(name)))
            check(
                message is not None and name in message,
                "a tensor of another shape must raise WeightsError, naming the tensor",
            )
        message = _weights_error(load, ChangedReader(reader, with_more("no.such.part.weight")))
        check(
            message is not None and "no.such.part.weight" in message,
            "a tensor that the model has no place for must raise WeightsError, naming the tensor",
        )

    def test_every_tensor_matters(
        self, load: Callable[..., Model], reader: WeightReader, config: dict[str, Any]
    ) -> None:
        ids = _sequences(config, [6], seed=3)
        usual = all_logits(load(), ids, chunk=6)[0]
        for name in _tried(_needed(load, reader)):
            changed = all_logits(load(ChangedReader(reader, shifted(name))), ids, chunk=6)[0]
            check(
                not torch.equal(changed, usual),
                f"every tensor of the checkpoint must be used: other values in {name} change nothing",
            )

    def test_attention_layers(
        self,
        build: Callable[[], Model],
        describe: Callable[[HFConfig], ModelInfo],
        config: dict[str, Any],
        load: Callable[..., Model],
    ) -> None:
        wanted = self.capabilities
        layers = load().attention_layers()
        check_layers(layers, dtype=wanted.dtype, block_size=wanted.block_size)
        names = [layer.name for layer in layers]
        check(
            [layer.name for layer in load().attention_layers()] == names,
            "attention_layers() of two models of one configuration must have the same names in the same order",
        )

    def test_logits(self, load: Callable[..., Model], config: dict[str, Any]) -> None:
        run = PagedRun(load(), 1, self.capabilities.max_len)
        ids = _sequences(config, [9], seed=1)[0]
        hidden = run.forward(run.inputs({0: ids}))
        with torch.inference_mode():
            logits = run.model.compute_logits(hidden.states)
            some = run.model.compute_logits(hidden.states[[7, 2]])
        check(len(hidden.states) == len(ids), "forward() must return a row of states for each token of the step")
        check(bool(logits.isfinite().all()), "logits must be finite")
        check(
            logits.dtype is getattr(torch, self.capabilities.dtype),
            "compute_logits() must return the model's dtype",
        )
        check(
            some.shape == (2, logits.shape[-1]) and _close(some, logits[[7, 2]], self.capabilities.tolerance),
            "compute_logits() must give each row the logits that it has among others, for any rows",
        )

    @pytest.mark.parametrize("chunk", [1, 3, 7])
    def test_chunks_make_no_difference(self, load: Callable[..., Model], config: dict[str, Any], chunk: int) -> None:
        ids = _sequences(config, [self.capabilities.max_len], seed=2)
        model = load()
        whole = all_logits(model, ids, chunk=self.capabilities.max_len)[0]
        check_close(
            all_logits(model, ids, chunk=chunk)[0],
            whole,
            self.capabilities.tolerance,
            "a prompt that is cut into chunks must have the logits that it has as a whole",
        )

    def test_other_requests_make_no_difference(self, load: Callable[..., Model], config: dict[str, Any]) -> None:
        longest = self.capabilities.max_len
        lengths = [longest, 1, longest // 2, longest - 1]
        model, ids = load(), _sequences(config, lengths, seed=4)
        together = all_logits(model, ids, chunk=5, prompts=[max(1, length - 6) for length in lengths])
        for index, sequence in enumerate(ids):
            alone = all_logits(model, [sequence], chunk=longest)[0]
            check_close(
                together[index],
                alone,
                self.capabilities.tolerance,
                "a request must have the same logits among others as alone",
            )

    def test_a_request_sees_its_own_past_only(self, load: Callable[..., Model], config: dict[str, Any]) -> None:
        longest = self.capabilities.max_len
        model, (ids, other) = load(), _sequences(config, [longest, longest], seed=5)
        whole = all_logits(model, [ids], chunk=longest)[0]
        half = longest // 2
        mixed = all_logits(model, [ids[:half] + other[half:]], chunk=longest)[0]
        check_close(
            mixed[:half], whole[:half], self.capabilities.tolerance, "a token's logits must not depend on later tokens"
        )
        before = all_logits(model, [[*ids[: half - 1], other[half - 1], *ids[half:]]], chunk=longest)[0]
        check(
            other[half - 1] == ids[half - 1] or not _close(before[half], whole[half], self.capabilities.tolerance),
            "a token's logits must depend on the token before it",
        )

    def test_two_models_share_nothing(
        self, load: Callable[..., Model], reader: WeightReader, config: dict[str, Any]
    ) -> None:
        ids = _sequences(config, [10], seed=6)
        one = load()
        before = all_logits(one, ids, chunk=10)[0]
        all_logits(load(ChangedReader(reader, shifted(_needed(load, reader)[0]))), ids, chunk=10)
        check(
            torch.equal(all_logits(one, ids, chunk=10)[0], before),
            "two models in one process must share nothing: one with other weights changed the first",
        )

    def test_taps(self, load: Callable[..., Model], config: dict[str, Any]) -> None:
        run = PagedRun(load(), 1, self.capabilities.max_len)
        ids = _sequences(config, [8], seed=7)[0]
        plain = run.forward(run.inputs({0: ids}))
        check(not plain.taps, "taps that nobody asked for must not be returned")
        names = frozenset(layer.name for layer in run.model.attention_layers())
        hidden = run.forward(run.inputs({0: ids}, taps=names | {"no.such.layer"}))
        check(set(hidden.taps) <= names, "taps of a layer that the model does not have must be left out")
        check(torch.equal(hidden.states, plain.states), "taps must not change what a model computes")
        if self.capabilities.taps:
            check(
                set(hidden.taps) == names and all(len(tap) == len(ids) for tap in hidden.taps.values()),
                "every layer that was asked for must be tapped, with a row for each token",
            )

    def test_logits_of_a_reference(
        self, load: Callable[..., Model], config: dict[str, Any], reference_logits: ReferenceLogits | None
    ) -> None:
        if reference_logits is None:
            pytest.skip("there is no `reference_logits` to compare with")
        sequences = _sequences(config, [self.capabilities.max_len, 5], seed=8)
        found = all_logits(load(), sequences, chunk=6, prompts=[self.capabilities.max_len // 2, 5])
        for sequence, logits in zip(sequences, found, strict=True):
            check_close(
                logits,
                torch.as_tensor(reference_logits(sequence)),
                self.capabilities.reference_tolerance,
                "the logits must be those of the reference",
            )


def _sequences(config: Mapping[str, Any], lengths: Sequence[int], seed: int) -> list[list[int]]:
    generator = random.Random(seed)
    vocab = int(config.get("vocab_size", 100))
    return [[generator.randrange(vocab) for _ in range(length)] for length in lengths]


def _close(found: Tensor, expected: Tensor, tolerance: float) -> bool:
    error = (found - expected).abs() / (1 + expected.abs())
    return bool((error <= tolerance).all())


def _needed(load: Callable[..., Model], reader: WeightReader) -> list[str]:
    """Tensors that the model reads; what it leaves unread (tied heads, buffers) may be missing."""
    watched = WatchedReader(reader)
    load(watched)
    return sorted(watched.reads)


def _tried(names: Sequence[str]) -> list[str]:
    return list(names[:: max(1, len(names) // TRIED)])


def _refusal(describe: Callable[[HFConfig], ModelInfo], config: HFConfig) -> str | None:
    try:
        describe(config)
    except UnsupportedModelError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - another exception is the wrong answer, whatever it is
        return f"it raised {type(error).__name__}"
    return None


def _weights_error(load: Callable[..., Model], reader: WeightReader) -> str | None:
    try:
        load(reader)
    except WeightsError as error:
        return str(error)
    except Exception:  # noqa: BLE001 - another exception is the wrong answer, whatever it is
        return None
    return None
