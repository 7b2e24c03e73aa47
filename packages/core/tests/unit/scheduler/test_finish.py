from __future__ import annotations

import pytest

from kernelet.contracts.sampling import SamplerParams
from kernelet.request.request import Request
from kernelet.request.status import FinishReason
from kernelet.scheduler.finish import Ending, ending
from kernelet.testing.null.harness import null_request

STOP, LENGTH = FinishReason.STOP, FinishReason.LENGTH


def make(output, max_tokens=4, min_tokens=0, stops=(7,), pooling=None):
    params = SamplerParams(seed=0, min_tokens=min_tokens)
    data = null_request("r", [1, 2, 3], max_tokens, params=params, stop_token_ids=stops, pooling=pooling)
    request = Request(data=data, arrival_index=0)
    request.token_ids += output
    return request


@pytest.mark.parametrize(
    "output, options, expected",
    [
        ([5], {}, None),
        ([7], {}, Ending(STOP, 7)),
        ([5, 7], {}, Ending(STOP, 7)),
        ([7, 5], {}, None),
        ([7], {"stops": ()}, None),
        ([8], {"stops": (7, 8)}, Ending(STOP, 8)),
        ([5, 5, 5, 5], {}, Ending(LENGTH)),
        ([5, 5, 5, 7], {}, Ending(STOP, 7)),
        ([5, 5, 5, 7], {"stops": ()}, Ending(LENGTH)),
        ([7], {"min_tokens": 1}, None),
        ([7, 7], {"min_tokens": 1}, Ending(STOP, 7)),
        ([5, 7], {"min_tokens": 2}, None),
        ([5, 5, 7], {"min_tokens": 2}, Ending(STOP, 7)),
        ([5], {"max_tokens": 1}, Ending(LENGTH)),
        ([], {"max_tokens": 4}, None),
    ],
)
def test_table(output, options, expected):
    request = make(output, **options)
    assert ending(request, request.num_tokens - 1, 100) == expected


def test_context_ends_a_request():
    assert ending(make([5, 5]), 4, 6) is None
    assert ending(make([5, 5, 5]), 5, 6) == Ending(LENGTH)


def test_scoring_ends_with_the_prompt():
    assert ending(make([], max_tokens=0), 2, 100) is None
    assert ending(make([], max_tokens=0), 3, 100) == Ending(LENGTH)


def test_stop_token_in_the_prompt_is_no_stop():
    assert ending(make([], stops=(3,)), 3, 100) is None


@pytest.mark.parametrize("pooling, reason", [(None, LENGTH), ("last", STOP), ("mean", STOP)])
def test_a_request_that_generates_nothing_ends_with_its_prompt(pooling, reason):
    request = make([], max_tokens=0, pooling=pooling)
    assert ending(request, 2, 100) is None
    assert ending(request, 3, 100) == Ending(reason)
