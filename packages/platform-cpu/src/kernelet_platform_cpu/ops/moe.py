"""The op ``moe``: all experts of a step in one call of the extension."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import Op
from kernelet.layers import composite
from kernelet.layers.moe import Experts, Routing
from kernelet_platform_cpu.linear.packed import number_of, packed_linears
from kernelet_platform_cpu.native import required
from kernelet_platform_cpu.ops.elementary import ACTIVATIONS


class NativeMoE(Op):
    """Computes what the decomposition computes with the kernels of this package, bit by bit, at once.

    It serves experts whose weights are packed by the extension; all others are decomposed.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._known: dict[int, tuple[Any, Any, Any]] = {}

    def __call__(self, x: Tensor, logits: Tensor, experts: Experts, routing: Routing) -> Tensor:
        """[rows, hidden], logits [rows, experts] -> [rows, hidden]."""
        native = self._native(experts)
        if native is None or not len(x):
            return composite.moe(experts.ops, x, logits, experts, routing)
        weights, ids = routing.choose(logits)
        rows, choices = ids.shape
        x, ids = x.contiguous(), ids.contiguous()
        outputs = torch.empty(rows, choices, x.shape[1], dtype=x.dtype)
        native.apply(x.data_ptr(), rows, ids.data_ptr(), choices, outputs.data_ptr(), number_of(x.dtype))
        return (outputs * weights.unsqueeze(-1)).sum(1).to(x.dtype)

    def _native(self, experts: Experts) -> Any:
        """The experts as the extension has them; None: it cannot. Looked up again when weights were prepared again."""
        up, down = experts.prepared_up, experts.prepared_down
        known = self._known.get(id(experts))
        if known is None or known[0] is not up or known[1] is not down:
            known = (up, down, _bind(experts))
            self._known[id(experts)] = known
        return known[2]


def _bind(experts: Experts) -> Any:
    module = required()
    weights = [list(packed_linears(prepared)) for prepared in (experts.prepared_up, experts.prepared_down)]
    if type(experts) is not Experts or experts.activation not in ACTIVATIONS or not all(weights):
        return None
    return module.Experts(*weights, ACTIVATIONS.index(experts.activation))
