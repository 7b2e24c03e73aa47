"""The op ``moe``: all experts of a step in two launches."""

from __future__ import annotations

import torch
from torch import Tensor

from kernelet.contracts.op import Op
from kernelet.layers import composite
from kernelet.layers.moe import Experts, Routing
from kernelet_ops_triton import configurations
from kernelet_ops_triton.linear.dense import TritonDense
from kernelet_ops_triton.linear.quantized import TritonQuantized
from kernelet_ops_triton.linear.tiles import tiles_of

KERNELS = (TritonDense, TritonQuantized)


class TritonMoE(Op):
    """Serves experts whose weights this package multiplies; all others are decomposed.

    Rows are sorted by their experts, and nobody waits for their counts.
    """

    def __call__(self, x: Tensor, logits: Tensor, experts: Experts, routing: Routing) -> Tensor:
        """[rows, hidden], logits [rows, experts] -> [rows, hidden]."""
        up, down = experts.up_kernel, experts.down_kernel
        if type(experts) is not Experts or not (isinstance(up, KERNELS) and isinstance(down, KERNELS)) or not len(x):
            return composite.moe(experts.ops, x, logits, experts, routing)
        weights, ids = routing.choose(logits)
        rows, top_k = ids.shape
        ordered, order = ids.flatten().sort(stable=True)
        invariant = bool(self.settings["batch_invariant"])
        block_m = min(64, configurations.height(len(order) // experts.num_experts, batch_invariant=invariant))
        tiles = tiles_of(ordered, experts.num_experts, block_m)
        gate_up = up.apply_tiles(x[order // top_k], experts.prepared_up, tiles)
        parts = down.apply_tiles(experts.ops.act_and_mul(gate_up, experts.activation), experts.prepared_down, tiles)
        chosen = torch.empty_like(parts).index_copy_(0, order, parts).view(rows, top_k, -1)
        return (chosen * weights.unsqueeze(-1)).sum(1).to(x.dtype)
