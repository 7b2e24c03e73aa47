from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet_quant_awq.rounding import block_moments, in_groups, round_weight, row_errors


@given(rows=st.integers(1, 4), groups=st.integers(1, 3), size=st.sampled_from([8, 32]), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_it_is_the_nearest_of_its_group(rows, groups, size, seed):
    weight = torch.randn(rows, groups * size, generator=torch.Generator().manual_seed(seed)) + seed % 3 - 1
    found = round_weight(weight, size)
    assert torch.equal(found.scales, found.scales.half().float())
    assert found.values.min() >= 0
    assert found.values.max() <= 15
    for row in range(rows):
        for group in range(groups):
            part = weight[row, group * size : (group + 1) * size]
            step = float(max(part.max(), 0) - min(part.min(), 0)) / 15
            error = (found.weight()[row, group * size : (group + 1) * size] - part).abs().max()
            assert error <= 1.03 * step, "half a step, and half of one that the zero point is off at the ends"


def test_zeros_are_zeros_and_bounds_clip():
    assert not round_weight(torch.zeros(2, 16), 8).weight().any()
    weight = torch.linspace(-1, 3, 16)[None]
    bounds = (torch.full((1, 1, 1), -0.5), torch.full((1, 1, 1), 1.0))
    found = round_weight(weight, -1, *bounds).weight()
    assert float(found.min()) == pytest.approx(-0.5, abs=0.01)
    assert float(found.max()) == pytest.approx(1.0, abs=0.01)


def test_errors_are_those_of_the_outputs():
    generator = torch.Generator().manual_seed(1)
    error, inputs = torch.randn(3, 8, generator=generator), torch.randn(50, 8, generator=generator)
    moment = inputs.T @ inputs / 50
    assert torch.allclose(row_errors(error, moment), (inputs @ error.T).square().mean(0), atol=1e-5)
    parts = block_moments(moment, 4)
    assert torch.equal(parts[1], moment[4:, 4:])
    assert torch.equal(block_moments(moment, -1)[0], moment)
    assert in_groups(error, 4).shape == (3, 2, 4)
    assert in_groups(error, -1).shape == (3, 1, 8)
