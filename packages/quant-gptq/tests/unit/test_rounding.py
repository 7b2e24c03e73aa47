from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet_quant_gptq.rounding import find_grid


@given(bits=st.sampled_from([2, 3, 4, 8]), symmetric=st.booleans(), seed=st.integers(0, 99), shift=st.integers(-3, 3))
@settings(max_examples=60, deadline=None)
def test_every_weight_is_near_the_grid(bits, symmetric, seed, shift):
    weight = torch.randn(5, 32, generator=torch.Generator().manual_seed(seed)) + shift
    weight[2] = 0
    grid = find_grid(weight, bits, symmetric=symmetric)
    assert torch.equal(grid.scale, grid.scale.half().float())
    assert grid.zero.min() >= 1
    assert grid.zero.max() <= 2**bits - 1
    values = grid.nearest(weight)
    assert torch.equal(values, values.round())
    assert values.min() >= 0
    assert values.max() <= 2**bits - 1
    error = (grid.weight(values) - weight).abs()
    assert (error <= 1.02 * grid.scale + 1e-6).all()
    assert not grid.weight(values)[2].any()
    if symmetric:
        assert (grid.zero == 2 ** (bits - 1)).all()


def test_a_zero_point_is_at_least_one_and_costs_no_range():
    grid = find_grid(torch.tensor([[0.5, 1.0, 7.0]]), 4, symmetric=False)
    assert grid.zero.tolist() == [[1]]
    assert torch.allclose(grid.weight(grid.nearest(torch.tensor([[7.0]]))), torch.tensor([[7.0]]), atol=0.01)
