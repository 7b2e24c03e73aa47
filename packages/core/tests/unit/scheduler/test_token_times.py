from __future__ import annotations

import pytest

from kernelet.request.request import Request
from kernelet.scheduler.token_times import TokenTimes
from kernelet.testing.null.harness import null_request


@pytest.fixture
def make():
    def make(name, arrival):
        return Request(data=null_request(name, [1, 2, 3], arrival_time=arrival), arrival_index=0)

    return make


def test_first_and_further_tokens(make):
    one, two = make("a", 10.0), make("b", 11.0)
    first = TokenTimes(12.0)
    first.note(one, 1, ended=False)
    first.note(two, 0, ended=False)
    assert (first.num_tokens, first.num_prompt_tokens, first.first, first.between) == (1, 3, [2.0], [])
    second = TokenTimes(12.5)
    second.note(one, 1, ended=True)
    second.note(two, 1, ended=False)
    assert (second.num_tokens, second.num_prompt_tokens, second.first, second.between) == (2, 3, [1.5], [0.5])
    assert (one.first_token_time, one.last_token_time) == (12.0, 12.5)


def test_a_prompt_counts_once_also_where_nothing_is_generated(make):
    scored = make("a", 0.0)
    times = TokenTimes(1.0)
    times.note(scored, 0, ended=True)
    assert (times.num_tokens, times.num_prompt_tokens, times.first) == (0, 3, [])
    assert scored.first_token_time is None


def test_a_token_after_a_preemption_waits_for_it(make):
    request = make("a", 0.0)
    TokenTimes(1.0).note(request, 1, ended=False)
    again = TokenTimes(9.0)
    again.note(request, 1, ended=False)
    assert (again.num_prompt_tokens, again.first, again.between) == (0, [], [8.0])
