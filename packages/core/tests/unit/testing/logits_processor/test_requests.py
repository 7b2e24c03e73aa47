from __future__ import annotations

import pytest
import torch

from kernelet.contracts.sampling import LogitsProcessor
from kernelet.testing.logits_processor.requests import add, apply, choose, playing
from kernelet.testing.verdict import ConformanceError


class Calls(LogitsProcessor):
    """Does what the test says."""

    def __init__(self, change=lambda logits, rows: logits, works=True):
        self.change, self.works = change, works

    def add_request(self, request_id, arguments, prompt_token_ids):
        return self.works(arguments, prompt_token_ids) if callable(self.works) else self.works

    def apply(self, logits, rows):
        return self.change(logits, rows)


def made(value):
    def change(logits, rows):
        logits[rows[0].index] = value
        return logits

    return change


def test_requests_are_functions_of_their_seed():
    first, same, other = (playing("r", {}, seed, 50) for seed in (3, 3, 4))
    assert first.prompt == same.prompt
    assert torch.equal(first.logits(50, torch.float64), same.logits(50, torch.float64))
    assert not torch.equal(first.logits(50, torch.float64), other.logits(50, torch.float64))
    before = first.logits(50, torch.float32)
    first.outputs.append(7)
    assert not torch.equal(first.logits(50, torch.float32), before)
    row = first.row(2)
    assert (row.index, row.request_id, row.output_token_ids) == (2, "r", [7])


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda logits, rows: None, "must return the logits"),
        (lambda logits, rows: logits.half(), "shape, dtype and device"),
        (lambda logits, rows: logits[:1], "shape, dtype and device"),
        (lambda logits, rows: logits + 1, "the named rows only"),
        (made(float("nan")), "NaN"),
        (made(float("inf")), "infinite logit"),
        (made(-float("inf")), "leave a token"),
        (lambda logits, rows: rows[0].output_token_ids.clear() or logits, "must not change the tokens"),
        (lambda logits, rows: rows[0].prompt_token_ids.append(1) or logits, "must not change the tokens"),
    ],
)
def test_what_apply_must_not_do(change, message):
    request = playing("r", {}, 1, 8)
    request.outputs = [1, 2]
    with pytest.raises(ConformanceError, match=message):
        apply(Calls(change), torch.zeros(3, 8), [request.row(1)])


def test_what_it_may():
    request = playing("r", {}, 1, 8)
    apply(Calls(made(3.0)), torch.zeros(3, 8), [request.row(1)])
    few = torch.full((2, 8), -float("inf"))
    few[1, 2] = 1.0
    apply(Calls(made(-float("inf"))), few, [request.row(1)])  # little was left; what to do then is the sampler's


@pytest.mark.parametrize(
    "works, message",
    [
        (None, "True or False"),
        (lambda arguments, prompt: arguments.clear() or True, "must not change the arguments"),
        (lambda arguments, prompt: prompt.append(1) or True, "must not change the arguments or the prompt"),
    ],
)
def test_what_add_request_must_not_do(works, message):
    with pytest.raises(ConformanceError, match=message):
        add(Calls(works=works), playing("r", {"a": [1]}, 1, 8))


def test_the_best_token_is_the_first_of_equals():
    assert choose(torch.tensor([0.0, 2.0, 2.0])) == 1
