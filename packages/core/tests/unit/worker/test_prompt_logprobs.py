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


def held_of(num_prompt_tokens):
    params = SamplerParams(seed=0, prompt_logprobs=0)
    return HeldRequest("a", 0, params, num_prompt_tokens=num_prompt_tokens, num_tokens=num_prompt_tokens)


def test_all_logits_are_computed_after_a_failure():
    """Several ranks compute them together: none may stop before the others."""
    calls = []

    def compute_logits(states):
        calls.append(len(states))
        return torch.full((len(states), 5), float("nan") if len(calls) == 1 else 0.0)

    entry = ScheduledRequest(request_id="a", num_tokens=150, num_computed_tokens=0)
    with pytest.raises(ValueError, match="finite"):
        prompt_logprobs(held_of(151), entry, torch.zeros(150, 3), np.zeros(151, dtype=np.int64), compute_logits)
    assert calls == [64, 64, 22]


def test_a_rank_without_logits_has_none():
    entry = ScheduledRequest(request_id="a", num_tokens=100, num_computed_tokens=0)
    tokens = np.zeros(101, dtype=np.int64)
    assert prompt_logprobs(held_of(101), entry, torch.zeros(100, 3), tokens, lambda states: torch.empty(0, 5)) == []
