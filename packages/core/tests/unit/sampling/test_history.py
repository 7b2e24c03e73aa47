from __future__ import annotations

from collections import Counter

import numpy as np
import torch

from kernelet.sampling.history import TokenCounts


def test_counts_one_token_at_a_time():
    random = np.random.default_rng(0)
    prompt, generated = random.integers(0, 500, 300).tolist(), random.integers(0, 500, 400).tolist()
    counts = TokenCounts(prompt, generated[:150])
    for token in generated[150:]:
        counts.add(token)
    ids, numbers = counts.tensors(torch.zeros(1, dtype=torch.float64))
    expected = Counter(generated)
    assert dict(zip(ids.tolist(), numbers.tolist(), strict=True)) == {
        token: expected[token] for token in {*prompt, *generated}
    }
    assert len(set(ids.tolist())) == len(ids)


def test_order_of_appearance_does_not_depend_on_when_tokens_came():
    at_once, later = TokenCounts([3, 1], [2, 3]), TokenCounts([3, 1], [])
    later.add(2)
    later.add(3)
    for first, second in zip(at_once.tensors(torch.zeros(1)), later.tensors(torch.zeros(1)), strict=True):
        assert torch.equal(first, second)
