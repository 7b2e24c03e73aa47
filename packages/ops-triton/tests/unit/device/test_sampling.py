from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.sampling.draw import kept_tokens
from kernelet.sampling.ops import Draw, Draws
from kernelet_ops_triton.device.sampling import sample
from kernelet_ops_triton.ops.sampling import packed


def run(logits, draws):
    tokens, maxima = torch.empty(len(logits), dtype=torch.int64), torch.empty(len(logits), dtype=torch.float64)
    sample[len(logits),](
        logits, packed(draws), tokens, maxima, logits.stride(0), vocab=logits.shape[1], draw=True, block=128
    )
    return tokens, maxima


@settings(max_examples=8)
@given(
    seed=st.integers(0, 1 << 20),
    top_k=st.sampled_from([0, 1, 5, 60, 149, 150]),
    top_p=st.sampled_from([1.0, 0.97, 0.5, 1e-6]),
    min_p=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
)
def test_what_may_be_drawn_is_what_the_core_keeps(seed, top_k, top_p, min_p):
    """In the middle of each token's part of the distribution, that token; many are equal."""
    random = np.random.default_rng(seed)
    row = np.round(random.standard_normal(150) * 8).astype(np.float32) / 4
    scaled = (row - row.max()) / np.float32(0.9)
    ids = kept_tokens(scaled, Draw(0.9, top_k, top_p, min_p, 0.0))
    parts = np.exp(scaled[ids].astype(np.float64))
    middle = (np.cumsum(parts) - parts / 2) / parts.sum()
    shown = np.flatnonzero(parts / parts.sum() > 1e-4)
    chosen = random.choice(shown, size=min(3, len(shown)), replace=False)
    numbers = torch.from_numpy(middle[chosen])
    rows = torch.from_numpy(row).expand(len(numbers), -1).contiguous()
    fill = torch.full_like(numbers, 0.9), torch.full(numbers.shape, top_k)
    tokens, maxima = run(rows, Draws(*fill, torch.full_like(numbers, top_p), torch.full_like(numbers, min_p), numbers))
    assert tokens.tolist() == ids[chosen].tolist()
    assert set(maxima.tolist()) == {float(row.max())}


@pytest.mark.parametrize("number", [0.0, 1.0 - 2.0**-53])
def test_the_ends_of_the_distribution(number):
    """Tokens without weight are never drawn, at neither end."""
    logits = torch.full((1, 100), -torch.inf)
    logits[0, [17, 40, 83]] = torch.tensor([1.0, 2.0, 1.0])
    one = torch.ones(1, dtype=torch.float64)
    draws = Draws(one, torch.zeros(1, dtype=torch.int64), one, 0 * one, number * one)
    assert run(logits, draws)[0].tolist() == [17 if number == 0.0 else 83]


def test_rows_that_are_not_finite():
    logits = torch.zeros(3, 70)
    logits[0, 3], logits[1, 69], logits[2] = torch.nan, torch.inf, -torch.inf
    one = torch.ones(3, dtype=torch.float64)
    _, maxima = run(logits, Draws(one, torch.full((3,), 5), one / 2, 0 * one, one / 2))
    assert maxima[0].isnan() and maxima[1] == torch.inf and maxima[2] == -torch.inf
