from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from kernelet_attention_triton.device.softmax import above, capped, finish, join


@triton.jit
def softmax_of_stretches(
    scores, values, sinks, out, stretches: tl.constexpr, rows: tl.constexpr, has_sinks: tl.constexpr
):
    """[stretches, rows, 16] logarithms to the base 2, values [stretches, rows, 16]: the mean of each row's values."""
    row = tl.arange(0, rows)
    place = row[:, None] * 16 + tl.arange(0, 16)[None, :]
    largest = tl.full([rows], float("-inf"), tl.float32)
    total = tl.zeros([rows], tl.float32)
    summed = tl.zeros([rows, 16], tl.float32)
    for stretch in range(stretches):
        mine = tl.load(scores + stretch * rows * 16 + place)
        most = tl.max(mine, 1)
        weights = tl.exp2(mine - above(most)[:, None])
        value = tl.load(values + stretch * rows + row)
        weight = tl.sum(weights, 1)
        largest, total, summed = join(largest, total, summed, most, weight, (weight * value)[:, None] + summed * 0)
    sink = tl.load(sinks + row)
    tl.store(out + place, finish(largest, total, summed, sink, 1.0, has_sinks))


@triton.jit
def cap_scores(x, cap, out, size: tl.constexpr):
    place = tl.arange(0, size)
    tl.store(out + place, capped(tl.load(x + place), cap))


@pytest.mark.parametrize("has_sinks", [False, True])
def test_stretches_are_joined(has_sinks):
    generator = torch.Generator().manual_seed(0)
    scores = 30 * torch.randn(5, 8, 16, generator=generator)
    scores[0, :3] = -torch.inf  # nothing is seen in the first stretch
    scores[2:, 5] = -torch.inf
    values, sinks = torch.randn(5, 8, generator=generator), 30 * torch.randn(8, generator=generator)
    found = torch.empty(8, 16)
    softmax_of_stretches[1,](scores, values, sinks, found, stretches=5, rows=8, has_sinks=has_sinks)
    exact = scores.double().permute(1, 0, 2).flatten(1) * torch.log(torch.tensor(2.0, dtype=torch.float64))
    if has_sinks:
        exact = torch.cat((exact, sinks[:, None].double() * torch.log(torch.tensor(2.0, dtype=torch.float64))), 1)
    weights = exact.softmax(1)[:, : 5 * 16].view(8, 5, 16).sum(2)
    wanted = (weights * values.T.double()).sum(1, keepdim=True).expand(8, 16)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-5)


def test_cap_is_its_formula_and_never_nan():
    x = torch.cat((torch.linspace(-90, 90, 1020), torch.tensor([1e30, -1e30, 0.0, -0.0])))
    found = torch.empty(1024)
    cap_scores[1,](x, 30.0, found, size=1024)
    torch.testing.assert_close(found.double(), 30 * torch.tanh(x.double() / 30), rtol=1e-5, atol=1e-5)
