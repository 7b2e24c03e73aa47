from __future__ import annotations

import torch

from kernelet.sampling.ops import SAMPLING, sample
from kernelet.testing.op.draw import Draw
from kernelet.testing.op.sampling_cases import CHOICES, sampling_cases

DRAW = Draw(dtype=torch.bfloat16, rounded=torch.bfloat16, rows=range(40))


def test_every_op_of_sampling_has_cases_of_its_own_name():
    cases = list(sampling_cases())
    assert {case.op for case in cases} == set(SAMPLING)
    assert len({str(case) for case in cases}) == len(cases)
    assert sum(case.op == "sample" for case in cases) == len(CHOICES) + 2


def test_cases_are_what_they_say():
    by_words = {case.words: case for case in sampling_cases()}
    logits, draws = by_words["no draws"].make(DRAW).arguments
    assert draws is None
    assert all(len(row.unique()) < len(row) / 4 for row in logits)  # many are equal
    exact = by_words["no draws"].make(DRAW.exact).arguments[0]
    assert torch.equal(exact, logits.double())
    assert not by_words["greedy"].make(DRAW).arguments[1].temperature.any()
    for name in ("top_k", "top_p", "min_p"):
        draws = by_words[name].make(DRAW).arguments[1]
        nothing = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}
        for other, value in nothing.items():
            assert bool((getattr(draws, other) != value).all()) == (other == name)


def test_a_number_is_far_from_the_border_of_two_tokens():
    for case in sampling_cases():
        if case.op != "sample":
            continue
        logits, draws = case.make(DRAW).arguments
        if draws is None:
            continue
        tokens, _ = sample(logits, draws)
        for shift in (-1e-4, 1e-4):
            moved = type(draws)(draws.temperature, draws.top_k, draws.top_p, draws.min_p, draws.number + shift)
            assert torch.equal(sample(logits, moved)[0], tokens), case.words
