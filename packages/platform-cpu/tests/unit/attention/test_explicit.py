from __future__ import annotations

import pytest
import torch

from kernelet_platform_cpu.attention.explicit import attend, wide


@pytest.mark.parametrize("dtype, expected", [("bfloat16", "float32"), ("float16", "float32"), ("float64", "float64")])
def test_scores_are_never_narrower_than_float32(dtype, expected):
    assert wide(getattr(torch, dtype)) is getattr(torch, expected)


def test_sinks_take_probability_away():
    query = torch.zeros(1, 1, 2, 1, 4, dtype=torch.float64)
    key, value = torch.ones(1, 3, 4, dtype=torch.float64), torch.ones(1, 3, 4, dtype=torch.float64)
    sinks = torch.tensor([[0.0, 50.0]], dtype=torch.float64)
    out = attend(query, key, value, scale=1.0, sinks=sinks)
    # three scores of 0 and a sink of 0: three quarters; a sink of 50 takes nearly all
    torch.testing.assert_close(out[0, 0, 0, 0], torch.full((4,), 0.75, dtype=torch.float64))
    assert out[0, 0, 1, 0].max() < 1e-20


def test_soft_cap_bounds_scores():
    query = torch.full((1, 1, 1, 1, 1), 1000.0, dtype=torch.float64)
    key = torch.tensor([[[1.0], [0.0]]], dtype=torch.float64)
    value = torch.tensor([[[1.0], [0.0]]], dtype=torch.float64)
    out = attend(query, key, value, scale=1.0, soft_cap=2.0)
    expected = torch.sigmoid(torch.tensor(2.0, dtype=torch.float64))
    torch.testing.assert_close(out.flatten()[0], expected)
