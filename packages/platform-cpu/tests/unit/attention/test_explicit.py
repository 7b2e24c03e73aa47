from __future__ import annotations

import pytest
import torch

from kernelet_platform_cpu.attention.explicit import attend, wide


@pytest.mark.parametrize("dtype, expected", [("bfloat16", "float32"), ("float16", "float32"), ("float64", "float64")])
def test_scores_are_never_narrower_than_float32(dtype, expected):
    assert wide(getattr(torch, dtype)) is getattr(torch, expected)


def none(queries, keys):
    return torch.zeros(queries, 1, keys, dtype=torch.float64)


def test_sinks_take_probability_away():
    query = torch.zeros(1, 2, 1, 4, dtype=torch.float64)
    key, value = torch.ones(1, 1, 3, 4, dtype=torch.float64), torch.ones(1, 1, 3, 4, dtype=torch.float64)
    sinks = torch.tensor([[0.0, 50.0]], dtype=torch.float64)
    out = attend(query, key, value, scale=1.0, mask=none(1, 3), sinks=sinks)
    # three scores of 0 and a sink of 0: three quarters; a sink of 50 takes nearly all
    torch.testing.assert_close(out[0, 0, 0], torch.full((4,), 0.75, dtype=torch.float64))
    assert out[0, 1, 0].max() < 1e-20


def test_soft_cap_bounds_scores():
    query = torch.full((1, 1, 1, 1), 1000.0, dtype=torch.float64)
    key = torch.tensor([[[[1.0], [0.0]]]], dtype=torch.float64)
    out = attend(query, key, key, scale=1.0, mask=none(1, 2), soft_cap=2.0)
    torch.testing.assert_close(out.flatten()[0], torch.sigmoid(torch.tensor(2.0, dtype=torch.float64)))


@pytest.mark.parametrize("masked", [1, 2, 3])
def test_spans_are_as_one(masked):
    """The same as torch's own attention over the spans in a row, with a mask over the last of them."""
    torch.manual_seed(0)
    query = torch.randn(2, 3, 5, 8, dtype=torch.float64)
    key, value = torch.randn(2, 3, 2, 4, 8, dtype=torch.float64)
    mask = torch.where(torch.rand(5, masked, 4) < 0.4, -torch.inf, 0.0).double()
    mask[:, 0, 0] = 0
    found = attend(query, key, value, scale=0.3, mask=mask)
    rows = [part.transpose(0, 1).reshape(2, 1, 12, 8).expand(-1, 3, -1, -1) for part in (key, value)]
    whole = torch.cat((torch.zeros(5, 3 - masked, 4, dtype=torch.float64), mask), 1).view(5, 12)
    expected = torch.nn.functional.scaled_dot_product_attention(query, *rows, attn_mask=whole, scale=0.3)
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-12)
