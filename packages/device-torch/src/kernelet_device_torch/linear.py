"""Unquantized weights, multiplied by the vendor's library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.nn import functional

from kernelet.contracts.op import DENSE, Role, Support, WeightKernel, WeightScheme


class LibraryLinear(WeightKernel):
    """``x @ weight.T`` with the weight as it is. The library chooses by the number of rows, so bits depend on them."""

    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        if scheme != DENSE:
            return Support(ok=False, reason=f"serves unquantized weights only, not {scheme.describe()}")
        return Support(ok=True)

    def prepare(self, weights: Mapping[str, Tensor]) -> Tensor:
        return weights["weight"]

    def apply(self, x: Tensor, prepared: Any, bias: Tensor | None) -> Tensor:
        return self.rows(x, prepared) if self.role == "embedding" else functional.linear(x, prepared, bias)

    def apply_grouped(self, x: Tensor, prepared: Any, expert: int) -> Tensor:
        return functional.linear(x, prepared[expert])

    def has_rows(self, dtype: str) -> bool:
        return True

    def rows(self, ids: Tensor, prepared: Any) -> Tensor:
        return functional.embedding(ids, prepared)
