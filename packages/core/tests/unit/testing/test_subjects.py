from __future__ import annotations

import pytest

from kernelet.contracts.offer import Settings
from kernelet.scheduler.policies import FCFSPolicy, PriorityPolicy
from kernelet.testing.subjects import ask, ask_all, keys_elsewhere, subjects
from kernelet.testing.verdict import ConformanceError

ROWS = [(1, 0.5, 7), (0, 2.0, 9)]
NOTHING = Settings(plugin="p")


def test_a_subject_is_what_a_policy_may_see():
    first, second = subjects(ROWS)
    assert (first.priority, first.arrival_time, first.num_tokens) == (1, 0.5, 7)
    assert (second.request_id, second.arrival_index) == ("request-1", 1)
    first.grow(3)
    assert (first.num_tokens, first.num_prompt_tokens, first.extra_args) == (10, 7, {})
    assert [one.extra_args for one in subjects(ROWS, [{}, {"p": {"level": 1}}])] == [{"p": {"level": 1}}] * 2
    assert ask_all(PriorityPolicy(NOTHING), [first, second]) == [(1.0, 0.5, 0.0), (0.0, 2.0, 1.0)]


@pytest.mark.parametrize(
    "key, message",
    [
        (lambda request: 1, "sequence of numbers, not 1"),
        (lambda request: "12", "sequence of numbers"),
        (lambda request: (float("nan"),), "NaN"),
        (lambda request: (10**400,), "fit a float"),
        (lambda request: (request.tokens,), "nothing more: .*tokens"),
        (lambda request: setattr(request, "priority", 1), "must not change the request"),
    ],
)
def test_what_is_no_key(key, message):
    class Policy:
        @staticmethod
        def key(request):
            return key(request)

    with pytest.raises(ConformanceError, match=message):
        ask(Policy(), subjects(ROWS)[0])


def test_keys_in_another_process():
    alone, beside = keys_elsewhere(f"{FCFSPolicy.__module__}:FCFSPolicy", "p", {}, [], ROWS, ROWS)
    assert [tuple(key) for key in alone] == beside == [(0.5, 0.0), (2.0, 1.0)]
