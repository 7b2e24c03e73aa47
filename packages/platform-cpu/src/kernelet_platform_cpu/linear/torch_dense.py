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

TILE_ROWS = 16
"""Rows of every product: matrix kernels choose their order of sums by the number of rows."""


class TorchDense(WeightKernel):
    """``x @ weight.T`` in tiles of one size, so that a row has the same bits in every batch, and rows of a table.

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
    """Tile by tile, the last one padded: a row must not depend on how many there are in a step.

    Each tile is a tensor of its own, as MKL also looks at where in memory a matrix begins. In float64 the order of its
    sums depends on a row's place among the rows, too.
    """
    height = 1 if x.dtype is torch.float64 else TILE_ROWS
    done = []
    for rows in x.split(height):
        tile = x.new_zeros(height, x.shape[1])
        tile[: len(rows)] = rows
        done.append(_product(tile, weight, bias)[: len(rows)])
    return torch.cat(done)


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if weight.is_mkldnn:
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")  # noqa: SLF001
        return result
    return functional.linear(x, weight, bias)
