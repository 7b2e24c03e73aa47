from __future__ import annotations

import torch

from kernelet.contracts.sampling import SamplerParams
from kernelet.sampling.settings import DrawSettings
from kernelet.sampling.state import SamplingState


def state(**values):
    return SamplingState(SamplerParams(seed=1, **values), [1, 2], [], 50, torch.device("cpu"))


def test_greedy_rows_alone_need_none():
    assert DrawSettings().draws([state(temperature=0.0)] * 3, [0.0] * 3) is None


def test_parameters_row_by_row_with_the_numbers_of_the_step():
    settings = DrawSettings()
    states = [state(temperature=0.5, top_k=7), state(temperature=0.0), state(top_p=0.9, min_p=0.1)]
    for numbers in ([0.1, 0.2, 0.3], [0.4, 0.5, 0.6]):
        draws = settings.draws(states, numbers)
        assert [row[:4] for row in draws.rows()] == [(0.5, 7, 1.0, 0.0), (0.0, 0, 1.0, 0.0), (1.0, 0, 0.9, 0.1)]
        assert draws.number.tolist() == numbers


def test_other_requests_have_other_parameters():
    settings = DrawSettings()
    first, second = state(top_k=3), state(top_k=4)
    assert settings.draws([first, second], [0.1, 0.2]).top_k.tolist() == [3, 4]
    assert settings.draws([second], [0.1]).top_k.tolist() == [4]
    assert settings.draws([second, first], [0.1, 0.2]).top_k.tolist() == [4, 3]
    assert settings.draws([state(temperature=0.0)], [0.0]) is None
