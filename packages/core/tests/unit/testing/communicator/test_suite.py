from __future__ import annotations

import random

import pytest
import torch

from kernelet.testing.communicator.calls import Call, expected, pack
from kernelet.testing.communicator.ranks import Answer
from kernelet.testing.communicator.suite import hold, random_calls
from kernelet.testing.verdict import ConformanceError


class Told:
    """Ranks that answer what they are told."""

    def __init__(self, *answers):
        self.answers = answers
        self.group = type("Group", (), {"size": len(answers), "device": "cpu"})

    def run(self, calls):
        return list(self.answers)


def answers(call, change=lambda rank, tensor: tensor):
    return [
        Answer(results=[[pack(change(rank, one)) for one in wanted * 2]])
        for rank, wanted in enumerate(expected(call, 3))
    ]


def test_the_truth_holds():
    for op in ("all_reduce", "all_gather", "reduce_scatter", "broadcast"):
        call = Call(op=op, shape=(3, 3))
        hold(Told(*answers(call)), [call])


@pytest.mark.parametrize(
    "op, change, word",
    [
        ("all_reduce", lambda rank, tensor: tensor + 1, "sum over all ranks"),
        ("all_reduce", lambda rank, tensor: tensor * (1 + (rank == 1) * 2e-7), "same bits on every rank"),
        ("all_reduce", lambda rank, tensor: tensor * (1 + 2e-7), "in rank order"),
        ("all_gather", lambda rank, tensor: tensor.double(), "dtype that it was given"),
        ("all_gather", lambda rank, tensor: tensor[:1], "concatenate"),
        ("broadcast", lambda rank, tensor: tensor.nan_to_num() * torch.nan, "the source rank's tensor"),
    ],
)
def test_what_is_wrong_is_said(op, change, word):
    call = Call(op=op, shape=(3, 3))
    with pytest.raises(ConformanceError, match=word):
        hold(Told(*answers(call, change)), [call])


def test_ranks_without_results():
    call = Call(op="broadcast")
    good = answers(call)
    with pytest.raises(ConformanceError, match=r"a rank hangs: broadcast\(\) must return"):
        hold(Told(*good[:2], Answer()), [call])
    with pytest.raises(ConformanceError, match=r"broadcast\(\) must work, but rank 1 raised ValueError: no"):
        hold(Told(Answer(), Answer(error="Traceback\nValueError: no"), good[2]), [call])


def test_random_calls_are_of_all_kinds():
    calls = random_calls(random.Random(1), 3, ["float32", "int64"], 60)
    assert {call.op for call in calls} == {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "send"}
    assert all(call.source != call.destination for call in calls)
    assert {call.dtype for call in calls} == {"float32", "int64"}
