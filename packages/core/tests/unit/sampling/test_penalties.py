from __future__ import annotations

import numpy as np
import pytest
import torch

from kernelet.contracts.sampling import SamplerParams
from kernelet.sampling.history import TokenCounts
from kernelet.sampling.penalties import apply_penalties, has_penalties

CASES = [
    {"presence_penalty": 1.5},
    {"frequency_penalty": -0.7},
    {"repetition_penalty": 1.3},
    {"repetition_penalty": 0.6},
    {"presence_penalty": -2.0, "frequency_penalty": 0.25, "repetition_penalty": 1.1},
]


def reference(row, params, prompt, generated):
    out = []
    for token, value in enumerate(row):
        logit, times = value, generated.count(token)
        if params.repetition_penalty != 1.0 and (token in prompt or times):
            logit = logit / params.repetition_penalty if logit > 0 else logit * params.repetition_penalty
        out.append(logit - params.frequency_penalty * times - params.presence_penalty * (times > 0))
    return out


@pytest.mark.parametrize("values", CASES)
def test_against_the_definition(values):
    random = np.random.default_rng(1)
    params = SamplerParams(seed=0, **values)
    prompt, generated = random.integers(0, 40, 15).tolist(), random.integers(0, 40, 25).tolist()
    row = torch.tensor(random.normal(size=40))
    expected = reference(row.tolist(), params, prompt, generated)
    seen = prompt if params.repetition_penalty != 1.0 else ()
    apply_penalties(row, params, TokenCounts(seen, generated))
    assert row.tolist() == pytest.approx(expected, abs=1e-12)


def test_nothing_seen_changes_nothing():
    row = torch.ones(4)
    apply_penalties(row, SamplerParams(seed=0, presence_penalty=1.0), TokenCounts((), ()))
    assert torch.equal(row, torch.ones(4))


@pytest.mark.parametrize("values", CASES)
def test_has_penalties(values):
    assert has_penalties(SamplerParams(seed=0, **values))
    assert not has_penalties(SamplerParams(seed=0, temperature=0.5, top_p=0.1))
