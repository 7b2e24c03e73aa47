"""Unquantized weights in torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, Role, Support, WeightKernel, WeightScheme
from kernelet_platform_cpu.cpuinfo import cpu_flags, multiplies_bfloat16


class TorchDense(WeightKernel):
    """``x @ weight.T``, and rows of a table.

    Where the processor multiplies bfloat16, linear weights are packed once in the order of its matrix kernels (oneDNN),
    which is up to three times as fast for few rows and never slower. The packed copy replaces the weight; only a table
    that is embedding and output head at once is held twice.
    """

    def __init__(self, settings: Settings, role: Role, scheme: WeightScheme) -> None:
        super().__init__(settings, role, scheme)
        wanted = bool(settings.values.get("prepack", True))
        self._pack = wanted and torch.backends.mkldnn.is_available() and multiplies_bfloat16(cpu_flags())

    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        if scheme != DENSE:
            return Support(ok=False, reason=f"serves unquantized weights only, not {scheme.opaque or scheme.element}")
        return Support(ok=True)

    def prepare(self, weights: Mapping[str, Tensor]) -> Any:
        """linear: the weight, packed or as it is; grouped_linear: a list of these; embedding: the table."""
        weight = weights["weight"]
        if self.role == "grouped_linear":
            return [self._prepare_linear(expert) for expert in weight]
        return weight if self.role == "embedding" else self._prepare_linear(weight)

    def apply(self, x: Tensor, prepared: Any, bias: Tensor | None) -> Tensor:
        if self.role == "embedding":
            return functional.embedding(x, prepared)
        return _linear(x, prepared, bias)

    def apply_grouped(self, x: Tensor, prepared: Any, expert: int) -> Tensor:
        return _linear(x, prepared[expert], None)

    def _prepare_linear(self, weight: Tensor) -> Tensor:
        if self._pack and weight.dtype is torch.bfloat16:
            packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight)  # noqa: SLF001
            return packed
        return weight


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if len(x) == 1 and x.dtype.itemsize < 4:
        # one row takes another kernel, whose order of sums differs: a text must not depend on being alone in a step
        return _linear(x.expand(2, -1).contiguous(), weight, bias)[:1]
    if weight.is_mkldnn:
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")  # noqa: SLF001
        return result
    return functional.linear(x, weight, bias)
