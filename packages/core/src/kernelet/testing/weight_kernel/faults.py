"""Wrong weight kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
import torch
from torch import Tensor

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, Role, Support, WeightKernelOffer, WeightScheme
from kernelet.testing.faults import Fault
from kernelet.testing.offered import Offered
from kernelet.testing.weight_kernel.cases import WeightKernelCapabilities
from kernelet.testing.weight_kernel.reference import ReferenceKernel, dequantize
from kernelet.testing.weight_kernel.suite import WeightKernelSuite

SETTINGS = Settings(plugin="faulty")


def suite_of(kernel: type[Any]) -> type[WeightKernelSuite]:
    """The suite as the author of that kernel writes it."""

    class Faulty(WeightKernelSuite):
        capabilities = WeightKernelCapabilities(dtypes=("float64", "bfloat16"), shapes=((12, 64),))

        @pytest.fixture
        def offered(self) -> Offered[WeightKernelOffer]:
            offer = WeightKernelOffer(
                name="faulty",
                target=f"{kernel.__module__}:{kernel.__qualname__}",
                roles=("linear", "grouped_linear", "embedding"),
            )
            return Offered(offer=offer, settings=SETTINGS, target=kernel)

    return Faulty


class NotAKernel:
    def __init__(self, *_: object) -> None:
        """Takes anything."""


class Dense(ReferenceKernel):
    """Unquantized weights only, so that a fault shows soon."""

    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        return Support(ok=True) if scheme == DENSE else Support(ok=False, reason="serves dense weights only")


class LooksAtTheElementOnly(Dense):
    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        return super().supports(role, WeightScheme(element=scheme.element, scales=scheme.scales), dtype, shape)


class RefusesSilently(Dense):
    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        return Support(ok=scheme == DENSE)


class Raises(Dense):
    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        return Support(ok={"dense": True}[scheme.element])


class NoExperts(Dense):
    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        if role == "grouped_linear":
            return Support(ok=False, reason="no experts yet")
        return super().supports(role, scheme, dtype, shape)


class Forgetful(Dense):
    def __init__(self, settings: Settings, role: Role, scheme: WeightScheme) -> None:
        super().__init__(Settings(plugin="none"), role, scheme)


class NoBias(Dense):
    def apply(self, x: Tensor, prepared: Tensor, bias: Tensor | None) -> Tensor:
        return super().apply(x, prepared, None)


class NoZeroPoints(ReferenceKernel):
    def prepare(self, weights: Mapping[str, Tensor]) -> Tensor:
        if self.scheme.zero_point in {None, "offset"}:
            return super().prepare(weights)
        return dequantize(weights, msgspec.structs.replace(self.scheme, zero_point=None))


class FinestScalesOnly(ReferenceKernel):
    def prepare(self, weights: Mapping[str, Tensor]) -> Tensor:
        if len(self.scheme.scales) < 2:
            return super().prepare(weights)
        return dequantize(weights, msgspec.structs.replace(self.scheme, scales=self.scheme.scales[:1]))


class NoOffsets(ReferenceKernel):
    def prepare(self, weights: Mapping[str, Tensor]) -> Tensor:
        if self.scheme.zero_point != "offset":
            return super().prepare(weights)
        return dequantize(weights, msgspec.structs.replace(self.scheme, zero_point=None))


class FinestOffsetsOnly(ReferenceKernel):
    def prepare(self, weights: Mapping[str, Tensor]) -> Tensor:
        ones = {name: torch.ones_like(tensor) for name, tensor in weights.items() if name.startswith("offsets_")}
        return super().prepare({**weights, **ones})


class SubScalesWithoutSigns(ReferenceKernel):
    def prepare(self, weights: Mapping[str, Tensor]) -> Tensor:
        scales = weights.get("scales")
        if scales is None or scales.dtype != torch.int8:
            return super().prepare(weights)
        return super().prepare({**weights, "scales": scales.view(torch.uint8)})


class PermutesBackwards(ReferenceKernel):
    def prepare(self, weights: Mapping[str, Tensor]) -> Tensor:
        if not self.scheme.permuted:
            return super().prepare(weights)
        inverse = weights["permutation"].argsort(-1).to(torch.int32)
        return super().prepare({**weights, "permutation": inverse})


class NeedsRows(Dense):
    def apply(self, x: Tensor, prepared: Tensor, bias: Tensor | None) -> Tensor:
        if not len(x):
            raise IndexError("no rows")
        return super().apply(x, prepared, bias)


class ClampsInPlace(Dense):
    def apply(self, x: Tensor, prepared: Tensor, bias: Tensor | None) -> Tensor:
        result = super().apply(x, prepared, bias)
        if self.role == "linear":
            x.clamp_(-1, 1)
        return result


class OneForAll(Dense):
    @classmethod
    def keep(cls, weight: Tensor) -> None:
        cls.weight = weight

    weight: Tensor

    def prepare(self, weights: Mapping[str, Tensor]) -> Tensor:
        self.keep(weights["weight"])
        return weights["weight"]

    def apply(self, x: Tensor, prepared: Tensor, bias: Tensor | None) -> Tensor:
        return super().apply(x, self.weight, bias)

    def apply_grouped(self, x: Tensor, prepared: Tensor, expert: int) -> Tensor:
        return super().apply_grouped(x, self.weight, expert)


class PreparesOnce(Dense):
    first: Tensor | None = None

    def prepare(self, weights: Mapping[str, Tensor]) -> Tensor:
        if self.first is None:
            self.first = super().prepare(weights)
        return self.first


class Narrow(Dense):
    def apply(self, x: Tensor, prepared: Tensor, bias: Tensor | None) -> Tensor:
        if self.role == "embedding":
            return prepared[x]
        total = torch.zeros(len(x), len(prepared), dtype=x.dtype)
        for row, column in zip(x.T, prepared.T, strict=True):
            total += row[:, None] * column
        return total if bias is None else total + bias


class AssumesContiguous(Dense):
    def apply(self, x: Tensor, prepared: Tensor, bias: Tensor | None) -> Tensor:
        dense = x if self.role == "embedding" else torch.as_strided(x, x.shape, (x.shape[-1], 1))
        return super().apply(dense, prepared, bias)


class ScalesByTheBatch(Dense):
    """Quantizes its inputs with one scale for all rows."""

    def apply(self, x: Tensor, prepared: Tensor, bias: Tensor | None) -> Tensor:
        if self.role == "embedding" or not len(x):
            return super().apply(x, prepared, bias)
        scale = x.double().abs().max() * 2.0**-50
        return super().apply(((x.double() / scale).round() * scale).to(x.dtype), prepared, bias)


class RoundsWithTheBatch(ReferenceKernel):
    """One scale for the inputs of all rows."""

    def round_inputs(self, x: Tensor) -> Tensor:
        if self.scheme.activation_element != "int8" or not len(x):
            return super().round_inputs(x)
        return super().round_inputs(x.reshape(1, -1)).view(x.shape)


class DividesByZero(ReferenceKernel):
    def round_inputs(self, x: Tensor) -> Tensor:
        found = super().round_inputs(x)
        if self.scheme.activation is None:
            return found
        return found + 0 / x.double().abs().amax(-1, keepdim=True)


class FirstExpert(Dense):
    def apply_grouped(self, x: Tensor, prepared: Tensor, expert: int) -> Tensor:
        return super().apply_grouped(x, prepared, 0)


class Widens(Dense):
    def apply_grouped(self, x: Tensor, prepared: Tensor, expert: int) -> Tensor:
        return super().apply_grouped(x, prepared, expert).double()


class RoundsItsTable(Dense):
    def prepare(self, weights: Mapping[str, Tensor]) -> Tensor:
        weight = super().prepare(weights)
        return (weight * 3) / 3 if self.role == "embedding" else weight


class SortsRows(Dense):
    def has_rows(self, dtype: str) -> bool:
        return True

    def rows(self, ids: Tensor, prepared: Tensor) -> Tensor:
        return prepared[ids.sort().values]


class OneBuffer(Dense):
    buffer: Tensor | None = None

    def apply(self, x: Tensor, prepared: Tensor, bias: Tensor | None) -> Tensor:
        result = super().apply(x, prepared, bias)
        if self.buffer is None or self.buffer.shape != result.shape:
            self.buffer = torch.empty_like(result)
        return self.buffer.copy_(result)


class ComputesSome(Dense):
    def apply(self, x: Tensor, prepared: Tensor, bias: Tensor | None) -> Tensor:
        return super().apply(x[:512], prepared, bias)


class ClampsIds(Dense):
    def apply(self, x: Tensor, prepared: Tensor, bias: Tensor | None) -> Tensor:
        return super().apply(x.clamp(max=100) if self.role == "embedding" else x, prepared, bias)


class Pops(Dense):
    def prepare(self, weights: Mapping[str, Tensor]) -> Tensor:
        prepared = super().prepare(weights)
        weights.pop("weight")  # type: ignore[attr-defined]
        return prepared


class Keeps(Dense):
    def layout(self, dtype: str) -> str:
        return "plain"

    def export(self, prepared: Tensor) -> Mapping[str, Tensor]:
        return {"weight": prepared}

    def restore(self, tensors: Mapping[str, Tensor]) -> Tensor:
        return tensors["weight"]


class RestoresLess(Keeps):
    def restore(self, tensors: Mapping[str, Tensor]) -> Tensor:
        return super().restore(tensors).half().to(tensors["weight"].dtype)


class ExportsViews(Keeps):
    def export(self, prepared: Tensor) -> Mapping[str, Tensor]:
        return {"weight": prepared.mT}

    def restore(self, tensors: Mapping[str, Tensor]) -> Tensor:
        return tensors["weight"].mT


class NamesItselfAnew(Keeps):
    def layout(self, dtype: str) -> str:
        return f"plain {id(self)}"


class Batched(Dense):
    """Its promise of the same bits does not hold: torch picks another routine for one row."""

    def apply(self, x: Tensor, prepared: Tensor, bias: Tensor | None) -> Tensor:
        result = super().apply(x, prepared, bias)
        return result if self.role == "embedding" else result + (len(x) - 1) * 2.0**-51


class Promising(suite_of(Batched)):  # type: ignore[misc]
    capabilities = WeightKernelCapabilities(dtypes=("float64",), shapes=((12, 64),), batch_invariant=True)


_PLANTED: tuple[tuple[str, type[Any], str], ...] = (
    ("is-no-kernel", NotAKernel, "is no WeightKernel"),
    ("supports-what-it-does-not-know", LooksAtTheElementOnly, "supports() must look at every property of a scheme"),
    ("refuses-without-a-reason", RefusesSilently, "supports() must say why it refuses"),
    ("fails-when-asked", Raises, "supports() must answer for every scheme"),
    ("offers-a-role-that-it-does-not-serve", NoExperts, "supports() refuses every scheme in it"),
    ("forgets-its-settings", Forgetful, "an instance must keep settings, role and scheme"),
    ("forgets-the-bias", NoBias, "a bias must be added once to each row"),
    ("ignores-zero-points", NoZeroPoints, "int zero points must be used as if it were dequantized"),
    ("ignores-coarse-scales", FinestScalesOnly, "(0, 0) must be used as if it were dequantized"),
    ("ignores-offsets", NoOffsets, "float16 scales of blocks (1, 32), offsets must be used as if it were dequantized"),
    ("ignores-coarse-offsets", FinestOffsetsOnly, "blocks (1, 256), offsets must be used as if it were dequantized"),
    ("reads-sub-scales-without-signs", SubScalesWithoutSigns, "float16 scales of blocks (1, 256) must be used as if"),
    ("permutes-backwards", PermutesBackwards, "permuted inputs must be used as if it were dequantized"),
    ("needs-a-row", NeedsRows, "any number of rows must work"),
    ("changes-its-input", ClampsInPlace, "input and bias must not be changed"),
    ("keeps-one-weight-for-all-layers", OneForAll, "two layers of one kernel must share nothing"),
    ("prepares-once", PreparesOnce, "prepare() may run again"),
    ("sums-in-16-bits", Narrow, "products must be wider than 16 bits"),
    ("assumes-contiguous-inputs", AssumesContiguous, "strides must be respected"),
    ("has-one-scale-for-all-rows", ScalesByTheBatch, "NaN in one row must stay in it"),
    ("rounds-inputs-with-the-batch", RoundsWithTheBatch, "inputs must be rounded with a scale a row"),
    ("divides-by-zero", DividesByZero, "a row of zeros must stay zeros"),
    ("computes-with-the-first-expert", FirstExpert, "with float64 inputs, stored as dense must be used"),
    ("returns-another-dtype", Widens, "must return bfloat16, not torch.float64"),
    ("rounds-its-table", RoundsItsTable, "an embedding must return the rows of its table, bit by bit"),
    ("computes-512-rows", ComputesSome, "every row must be computed, of 1031 rows too"),
    ("clamps-ids", ClampsIds, "every row of a table must be found by its id, the last of 33000 too"),
    ("sorts-ids", SortsRows, "rows() must return rows of the weight, in the order of the ids"),
    ("takes-weights-out-of-the-mapping", Pops, "prepare() must not change the mapping that it is given"),
    ("restores-something-else", RestoresLess, "restore() must compute the same bits"),
    ("exports-views", ExportsViews, "export() must give contiguous tensors"),
    ("names-its-layout-anew", NamesItselfAnew, "layout() must name the form of prepared weights, the same each time"),
    ("returns-one-buffer", OneBuffer, "a result must be memory of its own"),
)

FAULTS = (
    *(Fault(name=name, suite=suite_of(kernel), says=says) for name, kernel, says in _PLANTED),
    Fault(name="breaks-its-promise-of-bits", suite=Promising, says="it promises the same bits in every batch"),
)
