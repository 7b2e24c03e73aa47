from __future__ import annotations

import pytest
import torch

from kernelet.layers.context import SINGLE_RANK, Recording, TensorParallel, UnevenError
from kernelet.testing.tensors import make_context


class Doubling:
    def all_reduce(self, tensor):
        return tensor * 2

    def all_gather(self, tensor, axis):
        return torch.cat((tensor, tensor), axis)


def test_one_rank_shares_nothing():
    x = torch.ones(2)
    assert SINGLE_RANK.share(7, "heads") == 7
    assert SINGLE_RANK.sum(x) is x
    assert SINGLE_RANK.gather(x) is x


def test_ranks_use_their_communicator():
    for rank, rows in enumerate((3, 0)):
        parallel = TensorParallel(rank=rank, size=2, communicator=Doubling())
        assert parallel.sum(torch.ones(2)).tolist() == [2, 2]
        assert parallel.gather(torch.ones(3, 2)).shape == (rows, 4)


def test_a_size_that_does_not_divide_is_named():
    parallel = TensorParallel(rank=0, size=2)
    with pytest.raises(UnevenError, match="heads: 9 cannot be divided over 2 tensor-parallel ranks"):
        parallel.share(9, "heads")
    with pytest.raises(UnevenError, match="inputs: 96 in groups of 32 cannot be divided over 2"):
        parallel.share(96, "inputs", unit=32)
    assert parallel.share(128, "inputs", unit=32) == 64


def test_what_repeats_is_held_by_several_ranks():
    four, three = TensorParallel(rank=0, size=4), TensorParallel(rank=0, size=3)
    assert [four.share(count, "heads", repeats=True) for count in (8, 4, 2, 1)] == [2, 1, 1, 1]
    with pytest.raises(UnevenError, match="heads: 2"):
        three.share(2, "heads", repeats=True)
    with pytest.raises(UnevenError, match="heads: 4"):
        three.share(4, "heads", repeats=True)


def test_sizes_that_work_are_those_that_fit_all():
    recording = Recording(rank=0, size=1)
    recording.share(24, "heads")
    recording.share(4, "kv heads", repeats=True)
    recording.share(96, "inputs", unit=8)
    everything = [size for size in range(1, 25) if 24 % size == 0 and (4 % size == 0 or size % 4 == 0)]
    assert recording.sizes() == [size for size in everything if 96 // 8 % size == 0] == [1, 2, 4, 12]
    assert recording.advice().endswith("--tensor-parallel-size 1, 2, 4, 12")


def test_a_last_group_that_is_short_fits_one_rank_only():
    recording = Recording(rank=0, size=1)
    assert recording.share(100, "inputs", unit=32) == 100
    assert recording.sizes() == [1]


def test_record_keeps_choice_and_refusals():
    context = make_context(dtype=torch.bfloat16)
    context.record("layer", "linear", "best", "dense", {"other": "slow"})
    (plan,) = context.layer_plans
    assert (plan.name, plan.choice, plan.refused) == ("layer", "best", {"other": "slow"})
    assert context.dtype_name == "bfloat16"
