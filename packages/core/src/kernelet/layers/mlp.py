"""Feed-forward networks."""

from __future__ import annotations

from torch import Tensor

from kernelet.layers.context import ModelContext
from kernelet.layers.linear import ColumnParallelLinear, MergedLinear, RowParallelLinear
from kernelet.layers.weights import Layer


class GatedMLP(Layer):
    """``down(activation(gate(x)) * up(x))``."""

    def __init__(
        self, context: ModelContext, name: str, *, gate_up: MergedLinear, down: RowParallelLinear, activation: str
    ) -> None:
        super().__init__(name)
        self.gated_mlp = context.ops.gated_mlp
        self.gate_up = gate_up
        self.down = down
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """[rows, hidden] -> [rows, hidden]."""
        return self.gated_mlp(x, self.gate_up, self.down, self.activation)


class PlainMLP(Layer):
    """``down(activation(up(x)))``."""

    def __init__(
        self, context: ModelContext, name: str, *, up: ColumnParallelLinear, down: RowParallelLinear, activation: str
    ) -> None:
        super().__init__(name)
        self.mlp = context.ops.mlp
        self.up = up
        self.down = down
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """[rows, hidden] -> [rows, hidden]."""
        return self.mlp(x, self.up, self.down, self.activation)
