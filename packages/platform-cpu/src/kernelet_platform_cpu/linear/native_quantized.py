"""Quantized weights in the extension's panels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.op import Role, Support, WeightKernel, WeightScheme
from kernelet_platform_cpu.allocator import zeroed_weight
from kernelet_platform_cpu.linear.canonical import Canonical, canonical, supports
from kernelet_platform_cpu.linear.packed import gather, multiply
from kernelet_platform_cpu.native import DTYPES, native
from kernelet_platform_cpu.tuning import choice

FIELDS = (
    "outputs",
    "inputs",
    "group",
    "block",
    "bits",
    "origin",
    "element",
    "scale",
    "coarse",
    "zero",
    "round",
)
"""Of ``IntFormat``, besides ``input_scale``."""


@dataclass(frozen=True)
class PackedQuantized:
    """A weight [out, in], or one an expert.

    Attributes:
        linears: ``IntLinear`` of the extension, in the order of the experts.
        packed: What they read, bytes [experts, size].
        fields: int64, of the extension's ``IntFormat``: ``FIELDS``.
        input_scales: float32 [experts].
        permutation: int64 [experts, in], or None.
    """

    linears: tuple[Any, ...]
    packed: Tensor
    fields: Tensor
    input_scales: Tensor
    permutation: Tensor | None


class NativeQuantized(WeightKernel):
    """Inputs as they are, or rounded to int8 or float8. A row's bits depend on that row alone.

    Integers and inputs of int8 are multiplied and added in 32 bits, exactly, and scaled once a group. Others are
    multiplied in float32, with elements that are converted in registers.
    """

    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        if dtype not in DTYPES:
            return Support(ok=False, reason=f"takes {', '.join(DTYPES)}, not {dtype}")
        answer = supports(scheme, shape)
        if answer.ok and native() is None:
            return Support(ok=False, reason="the extension of platform-cpu was not built, or KERNELET_CPU_ISA=torch")
        return answer

    def prepare(self, weights: Mapping[str, Tensor]) -> PackedQuantized:
        """Packs every expert's weight, on all threads of the pool."""
        given = canonical(weights, self.scheme)
        fields = torch.tensor([given.fields[name] for name in FIELDS])
        packed = zeroed_weight((len(given.elements), _format(fields, 0.0).nbytes), torch.uint8)
        made = self._set_up(_read(packed, fields, given.input_scales.clone(), given.permutation))
        for expert, linear in enumerate(made.linears):
            _pack(linear, given, expert)
        return made

    def apply(self, x: Tensor, prepared: PackedQuantized, bias: Tensor | None) -> Tensor:
        """linear: in the dtype of x. embedding: float32."""
        if self.role == "embedding":
            return self.rows(x, prepared)
        return _multiply(x, prepared, 0, bias)

    def apply_grouped(self, x: Tensor, prepared: PackedQuantized, expert: int) -> Tensor:
        return _multiply(x, prepared, expert, None)

    def has_rows(self, dtype: str) -> bool:
        """Not in float64: rows are dequantized in float32."""
        return self.role == "linear" and dtype != "float64"

    def rows(self, ids: Tensor, prepared: PackedQuantized) -> Tensor:
        found = gather(prepared.linears[0], ids, torch.float32)
        if prepared.permutation is None:
            return found
        return torch.empty_like(found).index_copy_(1, prepared.permutation[0], found)

    def layout(self, dtype: str) -> str:
        module = native()
        return "" if module is None else f"native-quantized 3, {module.IntLinear.layout()}"

    def export(self, prepared: PackedQuantized) -> Mapping[str, Tensor]:
        tensors = {"packed": prepared.packed, "fields": prepared.fields, "input_scales": prepared.input_scales}
        return tensors if prepared.permutation is None else {**tensors, "permutation": prepared.permutation}

    def restore(self, tensors: Mapping[str, Tensor]) -> PackedQuantized:
        made = _read(tensors["packed"], tensors["fields"], tensors["input_scales"], tensors.get("permutation"))
        return self._set_up(made)

    def detail(self, dtype: str, shape: tuple[int, ...]) -> str:
        return choice.detail(self)

    def _set_up(self, packed: PackedQuantized) -> PackedQuantized:
        choice.set_up(self, "native-quantized", packed.linears, packed.fields[:2].tolist())
        return packed


def _multiply(x: Tensor, prepared: PackedQuantized, expert: int, bias: Tensor | None) -> Tensor:
    if prepared.permutation is not None:
        x = x.index_select(1, prepared.permutation[expert])
    return multiply(prepared.linears[expert], x, bias)


def _pack(linear: Any, given: Canonical, expert: int) -> None:
    names = ("elements", "scales", "zeros", "coarse", "coarse_offsets")
    tensors: dict[str, Tensor | None] = {name: getattr(given, name) for name in names}
    own = {name: None if tensor is None else tensor[expert].contiguous() for name, tensor in tensors.items()}
    linear.pack(**{name: 0 if tensor is None else tensor.data_ptr() for name, tensor in own.items()})


def _read(packed: Tensor, fields: Tensor, input_scales: Tensor, permutation: Tensor | None) -> PackedQuantized:
    module: Any = native()
    linears = tuple(
        module.IntLinear(_format(fields, float(scale)), part.data_ptr(), packed)
        for part, scale in zip(packed, input_scales, strict=True)
    )
    return PackedQuantized(linears, packed, fields, input_scales, permutation)


def _format(fields: Tensor, input_scale: float) -> Any:
    module: Any = native()
    return module.IntFormat(**dict(zip(FIELDS, fields.tolist(), strict=True)), input_scale=input_scale)
