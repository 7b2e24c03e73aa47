"""Weights of 2 to 8 bits in the extension's panels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.op import Role, Support, WeightKernel, WeightScheme
from kernelet_platform_cpu.allocator import zeroed
from kernelet_platform_cpu.linear.integers import ROUNDED, ZEROS, Integers, integers, supports
from kernelet_platform_cpu.linear.packed import gather, multiply
from kernelet_platform_cpu.native import DTYPES, native
from kernelet_platform_cpu.tuning import choice


@dataclass(frozen=True)
class PackedInts:
    """A weight [out, in], or one an expert.

    Attributes:
        linears: ``IntLinear`` of the extension, in the order of the experts.
        packed: What they read, bytes [experts, size].
        fields: int64 [outputs, inputs, group, bits, origin, zero, round], of the extension's ``IntFormat``.
        input_scales: float32 [experts].
        permutation: int64 [experts, in], or None.
    """

    linears: tuple[Any, ...]
    packed: Tensor
    fields: Tensor
    input_scales: Tensor
    permutation: Tensor | None


class NativeInt(WeightKernel):
    """Integer weights; inputs as they are, or rounded to int8. A row's bits depend on that row alone.

    Inputs that are not rounded are multiplied in float32 with weights that are dequantized in registers. Products of
    rounded ones are added in 32 bits, exactly, and scaled once a group.
    """

    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        if dtype not in DTYPES:
            return Support(ok=False, reason=f"takes {', '.join(DTYPES)}, not {dtype}")
        answer = supports(scheme, shape)
        if answer.ok and native() is None:
            return Support(ok=False, reason="the extension of platform-cpu was not built, or KERNELET_CPU_ISA=torch")
        return answer

    def prepare(self, weights: Mapping[str, Tensor]) -> PackedInts:
        """Packs every expert's weight, on all threads of the pool."""
        given = integers(weights, self.scheme)
        experts, outputs, inputs = given.elements.shape
        zero, rounded = ZEROS[self.scheme.zero_point], 0
        if self.scheme.activation is not None:
            rounded = ROUNDED[self.scheme.activation, self.scheme.activation_element]
        fields = torch.tensor([outputs, inputs, given.group, given.bits, given.origin, zero, rounded])
        packed = zeroed((experts, _format(fields, 0.0).nbytes), torch.uint8)
        made = self._set_up(_read(packed, fields, given.input_scales.clone(), given.permutation))
        for expert, linear in enumerate(made.linears):
            _pack(linear, given, expert)
        return made

    def apply(self, x: Tensor, prepared: PackedInts, bias: Tensor | None) -> Tensor:
        """linear: in the dtype of x. embedding: float32."""
        if self.role == "embedding":
            return self.rows(x, prepared)
        return _multiply(x, prepared, 0, bias)

    def apply_grouped(self, x: Tensor, prepared: PackedInts, expert: int) -> Tensor:
        return _multiply(x, prepared, expert, None)

    def has_rows(self, dtype: str) -> bool:
        """Not in float64: rows are dequantized in float32."""
        return self.role == "linear" and dtype != "float64"

    def rows(self, ids: Tensor, prepared: PackedInts) -> Tensor:
        found = gather(prepared.linears[0], ids, torch.float32)
        if prepared.permutation is None:
            return found
        return torch.empty_like(found).index_copy_(1, prepared.permutation[0], found)

    def layout(self, dtype: str) -> str:
        module = native()
        return "" if module is None else f"native-int 2, {module.IntLinear.layout()}"

    def export(self, prepared: PackedInts) -> Mapping[str, Tensor]:
        tensors = {"packed": prepared.packed, "fields": prepared.fields, "input_scales": prepared.input_scales}
        return tensors if prepared.permutation is None else {**tensors, "permutation": prepared.permutation}

    def restore(self, tensors: Mapping[str, Tensor]) -> PackedInts:
        made = _read(tensors["packed"], tensors["fields"], tensors["input_scales"], tensors.get("permutation"))
        return self._set_up(made)

    def detail(self, dtype: str, shape: tuple[int, ...]) -> str:
        return choice.detail(self)

    def _set_up(self, packed: PackedInts) -> PackedInts:
        choice.set_up(self, "native-int", packed.linears, packed.fields[:2].tolist())
        return packed


def _multiply(x: Tensor, prepared: PackedInts, expert: int, bias: Tensor | None) -> Tensor:
    if prepared.permutation is not None:
        x = x.index_select(1, prepared.permutation[expert])
    return multiply(prepared.linears[expert], x, bias)


def _pack(linear: Any, given: Integers, expert: int) -> None:
    zeros = 0 if given.zeros is None else given.zeros[expert].data_ptr()
    linear.pack(given.elements[expert].data_ptr(), given.scales[expert].data_ptr(), zeros)


def _read(packed: Tensor, fields: Tensor, input_scales: Tensor, permutation: Tensor | None) -> PackedInts:
    module: Any = native()
    linears = tuple(
        module.IntLinear(_format(fields, float(scale)), part.data_ptr(), packed)
        for part, scale in zip(packed, input_scales, strict=True)
    )
    return PackedInts(linears, packed, fields, input_scales, permutation)


def _format(fields: Tensor, input_scale: float) -> Any:
    module: Any = native()
    names = ("outputs", "inputs", "group", "bits", "origin", "zero", "round")
    return module.IntFormat(**dict(zip(names, fields.tolist(), strict=True)), input_scale=input_scale)
