from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from kernelet.sampling.logprobs import LOGPROB_FLOOR, floored, log_normalizers, rows_logprobs


@pytest.mark.parametrize("count", [0, 1, 5, 40, -1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_against_log_softmax(count, dtype):
    random = np.random.default_rng(0)
    rows = torch.tensor(random.integers(-8, 8, (4, 40)), dtype=dtype)  # many ties
    tokens = [0, 17, 39, 3]
    exact = torch.log_softmax(rows.double(), -1)
    for index, found in enumerate(rows_logprobs(rows, tokens, [count] * 4)):
        order = sorted(range(40), key=lambda token: (-rows[index, token].item(), token))
        best = order if count < 0 else order[:count]
        assert found.token_ids == [tokens[index], *best]
        assert found.ranks == [order.index(tokens[index]) + 1, *range(1, len(best) + 1)]
        assert found.logprobs == pytest.approx(exact[index, found.token_ids].tolist(), abs=1e-6)


def test_what_cannot_happen_is_floored_and_serializable():
    (found,) = rows_logprobs(torch.tensor([[0.0, -torch.inf, -20000.0]]), [1], [-1])
    assert found.logprobs == [LOGPROB_FLOOR, 0.0, LOGPROB_FLOOR, LOGPROB_FLOOR]
    json.dumps(found.logprobs, allow_nan=False)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_not_finite_never_passes(value):
    rows = torch.zeros(2, 5)
    rows[1, 3] = value
    with pytest.raises(ValueError, match="not finite"):
        rows_logprobs(rows, [0, 0], [1, 1])


def test_floored():
    assert [floored(x) for x in (-1.5, float("nan"), -float("inf"), -1e6)] == [-1.5, *[LOGPROB_FLOOR] * 3]


def test_normalizer_of_one_row_does_not_depend_on_others():
    rows = torch.randn(7, 1001, generator=torch.Generator().manual_seed(1))
    together = log_normalizers(rows, rows.amax(-1, keepdim=True))
    alone = [log_normalizers(row[None], row[None].amax(-1, keepdim=True))[0] for row in rows]
    assert together == alone
