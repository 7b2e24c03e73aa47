from __future__ import annotations

import pytest
import torch

from kernelet.layers.context import SINGLE_RANK, TensorParallel
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
    parallel = TensorParallel(rank=1, size=2, communicator=Doubling())
    assert parallel.sum(torch.ones(2)).tolist() == [2, 2]
    assert parallel.gather(torch.ones(1, 2)).shape == (1, 4)


def test_a_size_that_does_not_divide_is_named():
    with pytest.raises(ValueError, match="heads: 9"):
        TensorParallel(rank=0, size=2).share(9, "heads")


def test_record_keeps_choice_and_refusals():
    context = make_context(dtype=torch.bfloat16)
    context.record("layer", "linear", "best", "dense", {"other": "slow"})
    (plan,) = context.layer_plans
    assert (plan.name, plan.choice, plan.refused) == ("layer", "best", {"other": "slow"})
    assert context.dtype_name == "bfloat16"
