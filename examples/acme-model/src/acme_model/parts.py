"""The parts of a GPT-2. What multiplies is a weight kernel of the platform, what normalizes an op of the table."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from kernelet.contracts.op import DENSE, Role
from kernelet.layers.context import ModelContext


class Dense(nn.Module):
    """A weight [out, in] with the kernel that the platform has for it.

    Such a kernel keeps the promise that a row's result depends on no other row, which ``torch.nn.functional.linear``
    does not. The core's own layers, in ``kernelet.layers``, select theirs in the same way.
    """

    role: Role = "linear"

    def __init__(
        self, context: ModelContext, name: str, outputs: int, inputs: int, *, bias: bool = True, tied: bool = False
    ) -> None:
        """Selects the kernel.

        Args:
            context: The model's context.
            name: Global name, for the plan.
            outputs: Rows of the weight.
            inputs: Columns of the weight.
            bias: Whether there is a bias.
            tied: There is no weight of its own: `use` gives it another's.
        """
        super().__init__()
        choice = context.plugins.select_weight_kernel(self.role, DENSE, context.dtype_name, (outputs, inputs))
        context.record(name, self.role, choice.chosen.offer.name, f"dense [{outputs}, {inputs}]", choice.refused)
        target = context.plugins.load(choice.chosen)
        self.kernel = target(context.plugins.settings(choice.chosen.plugin), self.role, DENSE)
        self.weight = None if tied else parameter(context, outputs, inputs)
        self.bias = parameter(context, outputs) if bias else None
        self.prepared: Any = None

    def finish(self) -> None:
        """Gives the loaded weight to the kernel, which may pack or free it."""
        if self.weight is not None:
            self.use(self.weight.data)
            self.weight = None

    def use(self, weight: Tensor) -> None:
        """Computes with this weight."""
        self.prepared = self.kernel.prepare({"weight": weight})

    def forward(self, x: Tensor) -> Tensor:
        """[rows, in] -> [rows, out]."""
        result: Tensor = self.kernel.apply(x, self.prepared, self.bias)
        return result


class Table(Dense):
    """Rows by id: int64 [tokens] -> [tokens, size]."""

    role: Role = "embedding"

    def __init__(self, context: ModelContext, name: str, rows: int, size: int) -> None:
        super().__init__(context, name, rows, size, bias=False)


class Norm(nn.Module):
    """Layer norm of the residual stream, which is float32 in a 16-bit model; the result is in the model's dtype."""

    def __init__(self, context: ModelContext, size: int, eps: float) -> None:
        super().__init__()
        self.op = context.ops.layer_norm
        self.dtype = context.dtype
        self.eps = eps
        self.weight = parameter(context, size, dtype=stream_dtype(context.dtype))
        self.bias = parameter(context, size, dtype=stream_dtype(context.dtype))

    def forward(self, residual: Tensor) -> Tensor:
        """[rows, hidden] -> the same shape."""
        return self.op(residual, self.weight, self.bias, self.eps).to(self.dtype)


def stream_dtype(dtype: torch.dtype) -> torch.dtype:
    """float32 for the 16-bit dtypes, else the dtype itself: a sum over many blocks is not rounded to 16 bits."""
    return torch.float32 if dtype.itemsize < 4 else dtype


def parameter(context: ModelContext, *shape: int, dtype: torch.dtype | None = None) -> nn.Parameter:
    """A tensor that the checkpoint fills."""
    tensor = torch.empty(shape, dtype=dtype or context.dtype, device=context.device)
    return nn.Parameter(tensor, requires_grad=False)
