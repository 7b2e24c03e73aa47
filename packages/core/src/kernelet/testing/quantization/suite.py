"""The suite of quantization methods: what a scheme says, and that the canonical tensors are the weight."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernelet.contracts.op import WeightScheme
from kernelet.contracts.quant import QuantizationMethod, QuantLayer, QuantOffer
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet.testing.offered import Offered
from kernelet.testing.quantization.layers import layer_of, layers, weight_of
from kernelet.testing.quantization.methods import method_of
from kernelet.testing.quantization.tensors import differences, misfit, worst_row
from kernelet.testing.search import SEARCH
from kernelet.testing.suite import Suite
from kernelet.testing.verdict import check
from kernelet.testing.weight_kernel.reference import dequantize, no_reference

Store = Callable[[QuantLayer, Tensor], tuple[Mapping[str, Tensor], Tensor]]
Excluding = Callable[[Sequence[str]], QuantizationMethod]


@dataclass(frozen=True, kw_only=True)
class QuantizationCapabilities:
    """What a method does.

    Attributes:
        config: ``quantization_config`` of a checkpoint that it reads; None: it quantizes unquantized ones.
        error: Largest error of a row that it quantizes, relative to the row's norm.
    """

    config: Mapping[str, Any] | None = None
    error: float = 0.15


class QuantizationSuite(Suite):
    """Fixtures ``offered``: ``find_offer("acme_kernelet.plugin", QuantOffer)``; ``store`` for a format."""

    capabilities: ClassVar[QuantizationCapabilities] = QuantizationCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[QuantOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', QuantOffer)")

    @pytest.fixture
    def store(self) -> Store:
        """Writes a weight as a checkpoint has it: its tensors, and the float weight that they stand for.

        Given by the author of a format, with the format's own tools; an online method is given the weight itself.
        """
        return lambda _, weight: ({"weight": weight}, weight)

    @pytest.fixture
    def excluding(self) -> Excluding | None:
        """Makes a method that leaves the modules of a list as they are; None: it has no such list."""
        return None

    @pytest.fixture
    def make(self, offered: Offered[QuantOffer]) -> Callable[..., QuantizationMethod]:
        """Makes the method as the engine does."""
        return lambda config=self.capabilities.config: method_of(offered, config)

    def test_somebody_can_use_it(self, offered: Offered[QuantOffer]) -> None:
        if self.capabilities.config is None:
            check(offered.offer.online, "a method that reads no quantized checkpoint must say that it is online")
            return
        said = self.capabilities.config.get("quant_method")
        check(
            said in offered.offer.names,
            "`names` of the offer must hold what `quant_method` is in its checkpoints: that is how it is found",
        )

    def test_what_a_scheme_is(self, make: Callable[..., QuantizationMethod]) -> None:
        method = make()
        schemes = {layer.name: method.scheme(layer) for layer in layers()}
        found = [scheme for scheme in schemes.values() if scheme is not None]
        check(all(isinstance(scheme, WeightScheme) for scheme in found), "scheme() must return a WeightScheme or None")
        check(found, "no module of a usual model is quantized: scheme() says None for all of them")
        strange = next((reason for scheme in found if not scheme.opaque and (reason := no_reference(scheme))), "")
        check(not strange, f"scheme() must be one that has a canonical form, or be opaque: {strange}")

    def test_a_scheme_depends_on_the_module_alone(self, make: Callable[..., QuantizationMethod]) -> None:
        one, other = make(), make()
        first = [one.scheme(layer) for layer in layers()]
        backwards = [other.scheme(layer) for layer in reversed(layers())]
        check(
            first == backwards[::-1] == [one.scheme(layer) for layer in layers()],
            "scheme() must say the same of a module each time, whatever else was asked before: every rank asks",
        )

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
    def test_the_canonical_tensors_are_the_weight(
        self, make: Callable[..., QuantizationMethod], store: Store, dtype: torch.dtype
    ) -> None:
        method = make()
        for seed, layer in enumerate(layers(str(dtype).removeprefix("torch."))):
            if (scheme := method.scheme(layer)) is not None:
                self.compare(method, layer, scheme, *store(layer, weight_of(layer.shape, seed, dtype)))

    def test_odd_sizes(self, make: Callable[..., QuantizationMethod], store: Store) -> None:
        method = make()
        sizes = st.integers(1, 9) | st.integers(10, 200)

        @settings(SEARCH, max_examples=25)
        @given(rows=sizes, columns=sizes | st.sampled_from([32, 64, 128, 129, 160]))
        def computes(rows: int, columns: int) -> None:
            layer = layer_of("model.layers.7.self_attn.o_proj", (rows, columns))
            try:
                scheme = method.scheme(layer)
            except UnsupportedModelError as error:
                check(layer.name in str(error), "a size that cannot be stored must be refused with the module's name")
                return
            if scheme is not None:
                self.compare(method, layer, scheme, *store(layer, weight_of((rows, columns), rows)))

        computes()

    def compare(
        self,
        method: QuantizationMethod,
        layer: QuantLayer,
        scheme: WeightScheme,
        stored: Mapping[str, Tensor],
        weight: Tensor,
    ) -> None:
        """Holds the canonical tensors of one module against its weight.

        Raises:
            ConformanceError: they differ.
        """
        needed, known = set(method.stored(layer)), {*method.stored(layer), *method.optional(layer)}
        check(
            needed <= set(stored) <= known,
            "stored() must name the tensors that a checkpoint holds of the module",
        )
        before = {name: tensor.clone() for name, tensor in stored.items()}
        found = method.canonical(layer, stored)
        changed = differences(before, stored)
        check(not changed, "canonical() must leave what it is given as it is: others read it too")
        if scheme.opaque:
            return
        reason = misfit(found, scheme, tuple(weight.shape))
        check(not reason, f"canonical() must make the tensors that the scheme says: {reason}")
        whole = dequantize(found, scheme)
        check(bool(torch.isfinite(whole).all()), "canonical tensors of a finite weight must stand for finite values")
        error = worst_row(whole, weight)
        if self.capabilities.config is not None:
            check(error < 1e-6, "canonical tensors must stand for exactly the weight that the checkpoint stores")
        check(
            error <= self.capabilities.error,
            f"canonical tensors must stand for the weight, with an error of at most {self.capabilities.error} a row",
        )

    def test_rows_are_stored_alike_in_any_share(self, make: Callable[..., QuantizationMethod]) -> None:
        if self.capabilities.config is not None:
            pytest.skip("a checkpoint's tensors are whole")
        method, layer = make(), layers()[4]
        scheme = method.scheme(layer)
        if scheme is None or any(level.block[0] != 1 for level in scheme.scales):
            pytest.skip("its scales are of several rows")
        weight = weight_of(layer.shape, 3)
        whole = method.canonical(layer, {"weight": weight})
        for rows in (slice(0, 7), slice(7, None), slice(100, 101)):
            part = method.canonical(layer, {"weight": weight[rows].clone()})
            wanted = {name: tensor[rows] for name, tensor in whole.items()}
            check(
                not differences(wanted, part),
                "a row must be stored alike whatever rows come with it: ranks and fused layers share them differently",
            )

    def test_the_same_each_time(self, make: Callable[..., QuantizationMethod], store: Store) -> None:
        layer = layers()[0]
        one, other = make(), make()
        if one.scheme(layer) is None:
            pytest.skip("the first module is not quantized")
        stored, _ = store(layer, weight_of(layer.shape, 3))
        first, again = dict(one.canonical(layer, stored)), dict(one.canonical(layer, stored))
        theirs = dict(other.canonical(layer, stored))
        check(
            not differences(first, again) and not differences(first, theirs),
            "canonical() must make the same of the same each time, bit for bit: every rank and every start does it",
        )

    def test_sizes_far_out(self, make: Callable[..., QuantizationMethod], store: Store) -> None:
        if self.capabilities.config is not None:
            pytest.skip("the format's own tools decide what they can store")
        method, layer = make(), layers()[0]
        if (scheme := method.scheme(layer)) is None:
            pytest.skip("the first module is not quantized")
        for size in (1e-30, 1e-12, 1e12, 1e30):
            weight = weight_of(layer.shape, 5) * size
            error = worst_row(dequantize(method.canonical(layer, {"weight": weight}), scheme), weight)
            check(error <= self.capabilities.error, "weights that are all very small or very large must not be lost")

    @pytest.mark.parametrize("wrong", [torch.nan, torch.inf, -torch.inf], ids=["nan", "inf", "-inf"])
    def test_a_damaged_weight_is_named(self, make: Callable[..., QuantizationMethod], wrong: float) -> None:
        if self.capabilities.config is not None:
            pytest.skip("see test_a_damaged_tensor_is_named")
        method = make()
        for layer in layers():
            if method.scheme(layer) is not None:
                weight = weight_of(layer.shape, 3)
                weight[1, 5] = wrong
                message = refusal(WeightsError, lambda: method.canonical(layer, {"weight": weight}))  # noqa: B023
                check(
                    message is not None and layer.name in message,
                    "a weight with values that are infinite or no numbers must raise WeightsError, naming the module",
                )

    def test_a_damaged_tensor_is_named(self, make: Callable[..., QuantizationMethod], store: Store) -> None:
        if self.capabilities.config is None:
            pytest.skip("the core reads an unquantized weight")
        method = make()
        layer = next(one for one in layers() if method.scheme(one) is not None)
        stored, _ = store(layer, weight_of(layer.shape, 3))
        for name, tensor in stored.items():
            cut = {**stored, name: tensor[..., :-1]} if tensor.dim() else {}
            for damaged in filter(None, (cut, {key: one for key, one in stored.items() if key != name})):
                message = refusal(WeightsError, lambda: method.canonical(layer, damaged))  # noqa: B023
                check(
                    message is not None and layer.name in message,
                    "a tensor that is cut short or missing must raise WeightsError, naming the module",
                )

    def test_no_tensor_of_a_weight_is_ignored(self, make: Callable[..., QuantizationMethod]) -> None:
        method = make()
        patterns = [re.compile(pattern) for pattern in method.ignored()]
        for layer in layers():
            names = (*method.stored(layer), *method.optional(layer)) if method.scheme(layer) else ("weight", "bias")
            for name in names:
                check(
                    not any(pattern.fullmatch(f"{layer.name}.{name}") for pattern in patterns),
                    "ignored() must match no tensor of a module: it would never be loaded",
                )

    def test_what_it_does_not_know_is_refused(self, make: Callable[..., QuantizationMethod]) -> None:
        ours = self.capabilities.config
        strange = {"quant_method": "strange-to-the-kit"} if ours is None else {**ours, "strange_to_the_kit": 1}
        message = refusal(UnsupportedModelError, lambda: make(strange))
        check(
            message is not None and "to-the-kit" in message.replace("_", "-"),
            "a configuration of another method, or a field that the method does not know, must raise "
            "UnsupportedModelError, naming it",
        )

    def test_modules_that_are_left_as_they_are(self, excluding: Excluding | None) -> None:
        if excluding is None:
            pytest.skip("it has no list of modules to leave")
        wanted = {
            "model.layers.1": [".layers.1."],
            "k_proj": [".k_proj"],
            "model.layers.0.mlp.down_proj": ["layers.0.mlp.down_proj"],
        }
        for entry, parts in wanted.items():
            method = excluding([entry, "no.such.module"])
            for layer in layers():
                listed = any(part in layer.name for part in parts)
                plain = excluding([]).scheme(layer)
                check(
                    method.scheme(layer) == (None if listed else plain),
                    "a module must be left as it is if and only if whole components of its name are listed: "
                    "layers.1 is not layers.10",
                )
            check(
                len(method.unused()) == 1 and "no.such.module" in method.unused()[0],
                "unused() must name the entries of a list that matched no module, and no others",
            )


def refusal(kind: type[Exception], call: Callable[[], object]) -> str | None:
    """The message of the exception that a call raises; None for any other end."""
    try:
        call()
    except kind as error:
        return str(error)
    except Exception:  # noqa: BLE001 - another exception is the wrong answer, whatever it is
        return None
    return None
