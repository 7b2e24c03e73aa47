from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.testing.quantizer.source import statistics
from kernelet_quant_awq.rounding import round_weight
from kernelet_quant_awq.search import find_factors, round_clipped


def draw(seed, outliers=True):
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(24, 64, generator=generator) * 0.1
    weight[::5, ::9] *= 6
    inputs = torch.randn(200, 64, generator=generator)
    if outliers:
        inputs[:, ::16] *= 30
    return weight, inputs


def loss(inputs, weight, found):
    return float((inputs @ (found - weight).T).square().mean())


@pytest.mark.parametrize("group_size", [16, 32, -1])
def test_channels_with_large_inputs_are_scaled_up(group_size):
    weight, inputs = draw(1)
    factors = find_factors([weight[:8], weight[8:]], statistics(inputs), group_size)
    assert (factors > 0).all()
    assert factors[::16].min() > factors.median()
    scaled = round_weight(weight * factors, group_size).weight() / factors
    assert loss(inputs, weight, scaled) < 0.5 * loss(inputs, weight, round_weight(weight, group_size).weight())


def test_inputs_that_were_never_there_change_nothing():
    weight, inputs = draw(1)
    assert find_factors([weight], statistics(inputs * 0), 32) is None


@given(seed=st.integers(0, 500), group_size=st.sampled_from([8, 16, 64, -1]), outliers=st.booleans())
@settings(max_examples=30, deadline=None)
def test_clipping_never_costs_a_row(seed, group_size, outliers):
    weight, inputs = draw(seed, outliers)
    clipped, plain = round_clipped(weight, statistics(inputs), group_size), round_weight(weight, group_size)
    errors = [(inputs @ (one.weight() - weight).T).square().mean(0) for one in (clipped, plain)]
    assert (errors[0] <= errors[1] * 1.001).all()
    assert errors[0].sum() < errors[1].sum()
