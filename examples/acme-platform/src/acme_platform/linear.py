"""Unquantized weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.nn import functional

from kernelet.contracts.op import DENSE, Role, Support, WeightKernel, WeightScheme


class AcmeDense(WeightKernel):
    """``x @ weight.T``, and rows of a table."""

    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        if scheme != DENSE:
            return Support(ok=False, reason=f"serves unquantized weights, not {scheme.opaque or scheme.element}")
        if dtype not in {"float32", "float64"}:
            return Support(ok=False, reason=f"serves float32 and float64, not {dtype}")
        return Support(ok=True)

    def prepare(self, weights: Mapping[str, Tensor]) -> Any:
        return weights["weight"]

    def apply(self, x: Tensor, prepared: Any, bias: Tensor | None) -> Tensor:
        if self.role == "embedding":
            return functional.embedding(x, prepared)
        return functional.linear(x, prepared, bias)

    def apply_grouped(self, x: Tensor, prepared: Any, expert: int) -> Tensor:
        return functional.linear(x, prepared[expert])
