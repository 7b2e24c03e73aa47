from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelet_quant_tools.statistics import Statistics, scaled


def gathered(x, cuts, rows=8):
    statistics = Statistics(x.shape[1], len(x), rows)
    for piece in torch.tensor_split(x, cuts):
        if len(piece):
            statistics.add(piece[None])
    return statistics.result()


@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 6),
    tokens=st.integers(1, 40),
    cuts=st.lists(st.integers(0, 40), max_size=4).map(sorted),
    rows=st.integers(1, 50),
)
def test_however_it_is_cut_it_is_what_numpy_says(seed, size, tokens, cuts, rows):
    x = torch.randn(tokens, size, generator=torch.Generator().manual_seed(seed))
    found, plain = gathered(x, cuts, rows), x.double().numpy()
    assert found.tokens == tokens
    assert np.allclose(found.second_moment, sum(np.outer(row, row) for row in plain) / tokens, atol=1e-5)
    assert np.allclose(found.mean_magnitude, np.abs(plain).mean(0), atol=1e-6)
    assert np.array_equal(found.largest.double(), np.abs(plain).max(0))
    wanted = torch.linspace(0, tokens - 1, min(rows, tokens)).long()
    assert torch.equal(found.sample, x[wanted])


def test_scaled_is_what_scaled_inputs_have():
    x = torch.randn(30, 5, generator=torch.Generator().manual_seed(1))
    factors = torch.tensor([0.5, 1, 2, 4, 0.1])
    one, other = scaled(gathered(x, []), factors), gathered(x / factors, [])
    for field in ("second_moment", "mean_magnitude", "largest", "sample"):
        assert torch.allclose(getattr(one, field), getattr(other, field), rtol=1e-5), field
