from __future__ import annotations

import numpy as np
import pytest
import torch

from kernelet.contracts.executor import ScheduledRequest
from kernelet.contracts.sampling import SamplerParams
from kernelet.worker.batch import HeldRequest
from kernelet.worker.prompt_logprobs import prompt_logprobs


@pytest.mark.parametrize(
    "start, count, positions",
    [(0, 200, range(149)), (0, 10, range(10)), (140, 12, range(140, 149)), (149, 1, ()), (160, 3, ())],
)
def test_positions_and_slices(start, count, positions):
    """150 prompt tokens: the token after a position is scored, that of the last prompt token is not."""
    random = np.random.default_rng(0)
    tokens = random.integers(0, 20, 220)
    table = torch.tensor(random.normal(size=(220, 20)))
    held = HeldRequest("a", 0, SamplerParams(seed=0, prompt_logprobs=0), num_prompt_tokens=150, num_tokens=220)
    entry = ScheduledRequest(request_id="a", num_tokens=count, num_computed_tokens=start)
    sizes = []

    def compute_logits(states):
        sizes.append(len(states))
        return table[states[:, 0].long()]

    states = torch.arange(start, start + count, dtype=torch.float64)[:, None]
    found = prompt_logprobs(held, entry, states, tokens, compute_logits)
    assert [entry.token_ids for entry in found] == [[tokens[p + 1]] for p in positions]
    exact = table.log_softmax(-1)
    assert [entry.logprobs[0] for entry in found] == pytest.approx([float(exact[p, tokens[p + 1]]) for p in positions])
    assert max(sizes, default=0) <= 64
