from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.request.request import Request
from kernelet.scheduler.queue import RankedRequests
from kernelet.testing.null.harness import null_request


def make(index):
    return Request(data=null_request(f"r{index}", [1]), arrival_index=index)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=30))
def test_against_a_sorted_list(operations):
    queue, model = RankedRequests(), {}
    for index, (priority, take) in enumerate(operations):
        if take and model:
            rank = sorted(model)[len(model) // 2]
            queue.remove(rank, model.pop(rank))
        else:
            model[(float(priority), float(index))] = make(index)
            queue.add((float(priority), float(index)), model[(float(priority), float(index))])
        expected = [model[rank] for rank in sorted(model)]
        assert list(queue) == expected
        assert len(queue) == len(expected)
        if expected:
            assert queue.first() is expected[0]
            assert queue.last() is expected[-1]


def test_iteration_is_over_a_copy():
    queue = RankedRequests()
    for index in range(3):
        queue.add((float(index),), make(index))
    seen = []
    for request in queue:
        seen.append(request.request_id)
        queue.remove((float(request.arrival_index),), request)
    assert seen == ["r0", "r1", "r2"]


def test_what_is_not_there():
    queue, one = RankedRequests(), make(0)
    with pytest.raises(KeyError, match="r0"):
        queue.remove((1.0,), one)
    queue.add((1.0,), one)
    with pytest.raises(KeyError):
        queue.remove((1.0,), make(0))
    with pytest.raises(IndexError):
        RankedRequests().first()
