from __future__ import annotations

import numpy as np
import pytest
import torch

from kernelet.sampling.ops import Draw, Draws, apply_token_mask, sample


def draws_of(rows):
    columns = [torch.tensor(column, dtype=torch.float64) for column in zip(*rows, strict=True)]
    return Draws(columns[0], columns[1].to(torch.int64), *columns[2:])


def probabilities(row, draw):
    """From the definitions, in float64 with a full sort: [(token, probability)] by id."""
    weights = np.exp((row - row.max()) / draw.temperature)
    order = np.argsort(-row, kind="stable")
    order = order[weights[order] >= draw.min_p]
    order = order[: draw.top_k] if draw.top_k > 0 else order
    running = np.cumsum(weights[order])
    if draw.top_p < 1.0:
        order = order[: np.searchsorted(running, draw.top_p * running[-1]) + 1]
    kept = np.sort(order)
    return kept, weights[kept] / weights[kept].sum()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_each_row_by_its_own_parameters(dtype):
    random = np.random.default_rng(5)
    logits = torch.from_numpy(random.normal(scale=3.0, size=(60, 400))).to(dtype)
    rows = [
        Draw(
            float(random.choice([0.0, 0.4, 1.0, 1.7])),
            int(random.choice([-1, 0, 1, 17, 400])),
            float(random.choice([0.3, 0.9, 1.0])),
            float(random.choice([0.0, 0.01, 0.2])),
            float(random.random()),
        )
        for _ in range(60)
    ]
    tokens, maxima = sample(logits, draws_of(rows))
    assert (tokens.dtype, maxima.dtype) == (torch.int64, torch.float64)
    for row, draw, token, maximum in zip(logits.double().numpy(), rows, tokens.tolist(), maxima.tolist(), strict=True):
        assert maximum == row.max()
        if draw.temperature == 0.0:
            assert token == int(np.flatnonzero(row == row.max())[0])
            continue
        kept, shares = probabilities(row, draw)
        place = list(kept).index(token)
        end = shares[: place + 1].sum()
        assert end - shares[place] - 1e-5 <= draw.number <= end + 1e-5


def test_without_draws_every_row_takes_its_first_best():
    logits = torch.tensor([[1.0, 3.0, 3.0], [5.0, 5.0, 0.0]])
    before = logits.clone()
    tokens, maxima = sample(logits, None)
    assert (tokens.tolist(), maxima.tolist()) == ([1, 0], [3.0, 5.0])
    assert torch.equal(logits, before)


def test_a_maximum_shows_what_is_wrong_with_a_row():
    inf = torch.inf
    logits = torch.tensor([[1.0, torch.nan], [inf, 0.0], [-inf, -inf], [-inf, 2.0]])
    for draws in (None, draws_of([Draw(1.0, 0, 0.5, 0.0, 0.5)] * 4)):
        tokens, maxima = sample(logits, draws)
        assert maxima.isnan().tolist() == [True, False, False, False]
        assert maxima[1:].tolist() == [inf, -inf, 2.0]
        assert tokens[3] == 1


def test_no_rows():
    tokens, maxima = sample(torch.empty(0, 9), None)
    assert (len(tokens), len(maxima)) == (0, 0)


@pytest.mark.parametrize("size", [1, 31, 32, 33, 100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_masks_by_their_definition(size, dtype):
    random = np.random.default_rng(size)
    logits = torch.from_numpy(random.normal(size=(5, size))).to(dtype)
    logits[4, 0] = torch.nan
    words = random.integers(-(2**31), 2**31, size=(3, -(-size // 32)))
    expected = logits.clone()
    for mask, row in zip(words, (4, 0, 2), strict=True):
        for token in range(size):
            if not (int(mask[token // 32]) >> (token % 32)) & 1:
                expected[row, token] = -torch.inf
    found = apply_token_mask(logits, torch.from_numpy(words.astype(np.int32)), torch.tensor([4, 0, 2]))
    assert found is logits
    assert torch.equal(found.nan_to_num(7.0, neginf=-9.0), expected.nan_to_num(7.0, neginf=-9.0))
