"""Kernels of parts of a weight that are stored differently, as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor

from kernelet.contracts.op import DENSE, Role, Support, WeightKernel, WeightScheme


class SideBySide(WeightKernel):
    """Computes each part with its own kernel, and puts the outputs side by side; ``prepared`` is a tuple.

    Args:
        kernels: Of the parts, in the order of the outputs.
        rows: Outputs of each.
    """

    def __init__(self, kernels: Sequence[WeightKernel], rows: Sequence[int]) -> None:
        super().__init__(kernels[0].settings, kernels[0].role, DENSE)
        self.kernels = tuple(kernels)
        self.rows_of_each = tuple(rows)

    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        """It is made by layers, and not selected."""
        return Support(ok=False, reason="it has kernels of its own")

    def prepare(self, weights: Mapping[str, Tensor]) -> NoReturn:
        """Parts are prepared one by one."""
        raise NotImplementedError("each part is prepared by its own kernel")

    def apply(self, x: Tensor, prepared: Any, bias: Tensor | None) -> Tensor:
        biases = [None] * len(self.kernels) if bias is None else bias.split(self.rows_of_each)
        each = zip(self.kernels, prepared, biases, strict=True)
        return torch.cat([kernel.apply(x, one, its) for kernel, one, its in each], -1)

    def apply_grouped(self, x: Tensor, prepared: Any, expert: int) -> Tensor:
        each = zip(self.kernels, prepared, strict=True)
        return torch.cat([kernel.apply_grouped(x, one, expert) for kernel, one in each], -1)
