from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.layers.activation import ACTIVATIONS
from kernelet.layers.moe import Experts, Routing
from kernelet.testing.op.draw import Draw
from kernelet.testing.weight_kernel.reference import ReferenceKernel
from kernelet_ops_triton.conformance import Kernels
from kernelet_ops_triton.linear.dense import TritonDense
from kernelet_ops_triton.ops.moe import TritonMoE
from kernelet_ops_triton.plugin import kernelet_weight_kernels


def op(**values):
    return TritonMoE(Settings(plugin="ops-triton", values={"batch_invariant": False, **values}))


@pytest.mark.parametrize("own", [True, False])
def test_experts_of_others_are_decomposed(own):
    plugins = Kernels(kernelet_weight_kernels()) if own else None
    draw = Draw(dtype=torch.float32, rounded=torch.float32, rows=range(9), plugins=plugins)
    experts = Experts(draw.context(), "experts", num_experts=5, hidden=32, middle=24, activation="silu")
    draw.fill(experts)
    assert isinstance(experts.up_kernel, TritonDense if own else ReferenceKernel)
    x, logits = draw.row("x", 32), draw.row("logits", 5)
    found = op()(x, logits, experts, Routing(router="softmax_top_k", top_k=2))
    weights, ids = logits.softmax(-1).topk(2, -1)
    wanted = torch.zeros_like(x)
    for row in range(9):
        for weight, expert in zip(weights[row], ids[row].tolist(), strict=True):
            gate, value = (x[row] @ matrix(experts.prepared_up, expert, own).T).chunk(2)
            wanted[row] += weight * ((ACTIVATIONS["silu"](gate) * value) @ matrix(experts.prepared_down, expert, own).T)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def matrix(prepared, expert, own):
    return (prepared.weight if own else prepared)[expert]
