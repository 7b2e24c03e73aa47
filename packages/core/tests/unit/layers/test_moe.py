from __future__ import annotations

import pytest
import torch

from kernelet.layers.linear import ReplicatedLinear
from kernelet.layers.moe import ROUTERS, Experts, MixtureOfExperts, Routing
from kernelet.testing.tensors import make_context

D = torch.float64


def test_routers_differ_only_by_the_sum_of_weights():
    logits = torch.randn(6, 5, dtype=D)
    raw, ids = Routing(router="softmax_top_k", top_k=2).choose(logits)
    unit, same = Routing(router="top_k_softmax", top_k=2).choose(logits)
    assert torch.equal(ids, same)
    torch.testing.assert_close(unit, raw / raw.sum(-1, keepdim=True))
    torch.testing.assert_close(raw, logits.softmax(-1).gather(-1, ids))
    assert set(ROUTERS) == {"softmax_top_k", "top_k_softmax"}


def test_weights_are_wide_and_scaled():
    weights, _ = Routing(router="top_k_softmax", top_k=3, scale=2.5).choose(torch.randn(4, 8).bfloat16())
    assert weights.dtype == torch.float32
    torch.testing.assert_close(weights.sum(-1), torch.full((4,), 2.5))


@pytest.mark.parametrize("size", [1, 2])
def test_ranks_share_each_expert(size):
    generator = torch.Generator().manual_seed(0)
    gate_up = torch.randn(4, 12, 8, dtype=D, generator=generator)
    down = torch.randn(4, 8, 6, dtype=D, generator=generator)
    gate = torch.randn(4, 8, dtype=D, generator=generator)
    x = torch.randn(5, 8, dtype=D, generator=generator)

    def mixture(rank, size, communicator):
        context = make_context(dtype=D, rank=rank, size=size, communicator=communicator)
        router = ReplicatedLinear(context, "router", 8, 4)
        experts = Experts(context, "experts", num_experts=4, hidden=8, middle=6, activation="silu")
        router.weight.write("router", gate)
        experts.gate_up.write("up", gate_up)
        experts.down.write("down", down)
        router.finish()
        experts.finish()
        routing = Routing(router="top_k_softmax", top_k=2)
        return MixtureOfExperts(context, "moe", router=router, experts=experts, routing=routing)

    class Sum:
        total = 0

        def all_reduce(self, tensor):
            self.total = self.total + tensor
            return self.total

    summing = Sum()
    for rank in range(size):
        found = mixture(rank, size, summing).forward(x)
    torch.testing.assert_close(found, mixture(0, 1, None).forward(x))
