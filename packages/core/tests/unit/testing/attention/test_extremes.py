from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.testing.attention.extremes import KEYS, QUERY, SCALE, far_apart
from kernelet.testing.attention.reference import SlowAttention
from kernelet.testing.attention.steps import PagedRequests
from kernelet.testing.offered import Offered


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_scores_are_exact_in_every_dtype(dtype):
    keys = torch.tensor(KEYS, dtype=dtype)
    assert keys.tolist() == list(KEYS)
    scores = keys.double() * QUERY * SCALE
    assert scores.tolist() == [-51200, -38400, -25600, -12800, -64000]
    assert scores.to(dtype).isfinite().all()
    assert scores.diff().abs().min() > 1e4


def test_each_token_sees_one_value(layers):
    offered = Offered(offer=layers.offer, settings=Settings(plugin="x"), target=SlowAttention)
    mine = PagedRequests(offered, layers.spec(scale=SCALE), "cpu")
    prompt, after = far_apart(mine, 4), far_apart(mine, 1)
    assert torch.equal(prompt, mine.values["a"][:4])
    assert torch.equal(after, mine.values["a"][3:4])
