from __future__ import annotations

import torch

from kernelet.contracts.sampling import SamplerParams
from kernelet.sampling.state import SamplingState

CPU = torch.device("cpu")


def test_position_counts_prompt_and_generated():
    state = SamplingState(SamplerParams(seed=0), [1, 2, 3], [4], 9, CPU)
    assert state.position == 4
    state.append(5)
    assert state.position == 5
    assert state.generated == [4, 5]
    assert state.counts is None


def test_counts_include_the_prompt_for_repetition_only():
    for values, seen in (({"repetition_penalty": 1.2}, {1, 2, 4, 5}), ({"presence_penalty": 1.0}, {4, 5})):
        state = SamplingState(SamplerParams(seed=0, **values), [1, 2], [4], 9, CPU)
        state.append(5)
        assert set(state.counts.tensors(torch.zeros(1))[0].tolist()) == seen
