"""Unquantized weights in the extension's panels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from kernelet.contracts.op import DENSE, Role, Support, WeightKernel, WeightScheme
from kernelet_platform_cpu.allocator import zeroed_weight
from kernelet_platform_cpu.linear.packed import gather, multiply, number_of
from kernelet_platform_cpu.native import DTYPES, native
from kernelet_platform_cpu.tuning import choice


@dataclass(frozen=True)
class PackedDense:
    """A weight [out, in], or one an expert.

    Attributes:
        linears: ``DenseLinear`` of the extension, in the order of the experts.
        panels: What they read, [experts, numbers] in the dtype of the weight.
        shape: [out, in].
    """

    linears: tuple[Any, ...]
    panels: Tensor
    shape: tuple[int, int]

    @property
    def linear(self) -> Any:
        """The one weight of a linear layer."""
        return self.linears[0]


class NativeDense(WeightKernel):
    """``x @ weight.T`` and rows of a table; a row's bits depend on that row alone.

    A linear weight is packed once, and the packed copy replaces it. A table of its own stays as it is; one that is the
    output head too is read from the head's panels.
    """

    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        if scheme != DENSE:
            return Support(ok=False, reason=f"serves unquantized weights only, not {scheme.describe()}")
        if dtype not in DTYPES:
            return Support(ok=False, reason=f"takes {', '.join(DTYPES)}, not {dtype}")
        if native() is None:
            return Support(ok=False, reason="the extension of platform-cpu was not built, or KERNELET_CPU_ISA=torch")
        return Support(ok=True)

    def prepare(self, weights: Mapping[str, Tensor]) -> Any:
        """A ``PackedDense``; of an embedding the table."""
        weight = weights["weight"]
        return weight if self.role == "embedding" else self._set_up(pack(weight if weight.dim() == 3 else weight[None]))

    def apply(self, x: Tensor, prepared: Any, bias: Tensor | None) -> Tensor:
        if self.role == "embedding":
            return functional.embedding(x, prepared)
        return multiply(prepared.linear, x, bias)

    def apply_grouped(self, x: Tensor, prepared: Any, expert: int) -> Tensor:
        return multiply(prepared.linears[expert], x)

    def has_rows(self, dtype: str) -> bool:
        return self.role == "linear"

    def rows(self, ids: Tensor, prepared: Any) -> Tensor:
        return gather(prepared.linear, ids, prepared.panels.dtype)

    def layout(self, dtype: str) -> str:
        """Empty for an embedding: its table is kept as the checkpoint has it."""
        if self.role == "embedding":
            return ""
        layout: str = _classes().layout(number_of(getattr(torch, dtype)))
        return f"native-dense 1, {layout}"

    def export(self, prepared: Any) -> Mapping[str, Tensor]:
        return {"panels": prepared.panels, "shape": torch.tensor(prepared.shape)}

    def restore(self, tensors: Mapping[str, Tensor]) -> Any:
        outputs, inputs = (int(size) for size in tensors["shape"])
        return self._set_up(_read(tensors["panels"], (outputs, inputs)))

    def detail(self, dtype: str, shape: tuple[int, ...]) -> str:
        return "" if self.role == "embedding" else choice.detail(self)

    def _set_up(self, packed: PackedDense) -> PackedDense:
        dtype = DTYPES[number_of(packed.panels.dtype)]
        choice.set_up(self, "native-dense", packed.linears, packed.shape, dtype)
        return packed


def pack(weight: Tensor) -> PackedDense:
    """Copies [experts, out, in] into panels, on all threads of the pool."""
    experts, outputs, inputs = weight.shape
    if weight.stride(2) != 1 or weight.stride(1) < inputs:
        weight = weight.contiguous()
    dense, number = _classes(), number_of(weight.dtype)
    numbers = dense.packed_bytes(number, outputs, inputs) // weight.itemsize
    panels = zeroed_weight((experts, numbers), weight.dtype)
    for source, target in zip(weight, panels, strict=True):
        dense.pack(number, source.data_ptr(), source.stride(0), outputs, inputs, target.data_ptr())
    return _read(panels, (outputs, inputs))


def _read(panels: Tensor, shape: tuple[int, int]) -> PackedDense:
    dense, number = _classes(), number_of(panels.dtype)
    linears = tuple(dense(number, *shape, part.data_ptr(), panels) for part in panels)
    return PackedDense(linears, panels, shape)


def _classes() -> Any:
    module = native()
    assert module is not None  # supports() was asked first
    return module.DenseLinear
