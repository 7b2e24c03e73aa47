from __future__ import annotations

import pytest

from kernelet.contracts.sampling import SamplerParams
from kernelet.request.request import Request
from kernelet.scheduler.progress import decodes, hit_limit, prompt_logprobs_missing, samples, tokens_to_compute
from kernelet.testing.null.harness import null_request


def make(prompt=5, output=0, computed=0, placeholders=0, max_tokens=3, prompt_logprobs=None, pooling=None):
    params = SamplerParams(seed=0, prompt_logprobs=prompt_logprobs)
    data = null_request("r", range(prompt), max_tokens, params=params, pooling=pooling)
    request = Request(data=data, arrival_index=0)
    request.token_ids += [9] * output
    request.num_computed_tokens, request.num_placeholders = computed, placeholders
    return request


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, 5),
        ({"computed": 3}, 2),
        ({"computed": 5, "placeholders": 1}, 1),
        ({"computed": 6, "placeholders": 2}, 1),
        ({"computed": 7, "placeholders": 3}, 0),
        ({"computed": 5, "output": 1}, 1),
        ({"computed": 7, "output": 2, "placeholders": 1}, 0),
        ({"output": 2}, 7),
        ({"max_tokens": 0}, 5),
        ({"max_tokens": 0, "computed": 5}, 0),
        ({"max_tokens": 1, "computed": 5, "placeholders": 1}, 0),
    ],
)
def test_tokens_to_compute(options, expected):
    assert tokens_to_compute(make(**options)) == expected


@pytest.mark.parametrize(
    "options, count, expected",
    [
        ({}, 5, True),
        ({}, 4, False),
        ({"computed": 5, "placeholders": 1}, 1, True),
        ({"max_tokens": 0}, 5, False),
        ({"output": 2}, 7, True),
        ({"output": 2}, 6, False),
    ],
)
def test_samples(options, count, expected):
    assert samples(make(**options), count) is expected


@pytest.mark.parametrize(
    "options, count, expected",
    [
        ({}, 5, False),
        ({"prompt": 1}, 1, False),
        ({"computed": 5, "output": 1}, 1, True),
        ({"computed": 5, "placeholders": 1}, 1, True),
        ({"computed": 5, "output": 2}, 1, False),
        ({"computed": 5, "output": 2}, 2, False),
        ({"computed": 4, "output": 1}, 2, False),
    ],
)
def test_decodes(options, count, expected):
    assert decodes(make(**options), count) is expected


def test_prompt_logprobs_limit_the_hit():
    assert hit_limit(make()) is None
    request = make(prompt_logprobs=0)
    assert prompt_logprobs_missing(request) == 4
    assert hit_limit(request) == 0
    request.num_prompt_logprobs = 3
    assert hit_limit(request) == 3
    request.num_prompt_logprobs = 4
    assert hit_limit(request) is None
    assert hit_limit(make(prompt=1, prompt_logprobs=1)) is None


def test_a_mean_needs_every_position_and_the_last_state_does_not():
    assert hit_limit(make(max_tokens=0, pooling="mean")) == 0
    assert hit_limit(make(max_tokens=0, pooling="last")) is None
