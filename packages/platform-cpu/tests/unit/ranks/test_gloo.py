from __future__ import annotations

import pytest
import torch

from kernelet_platform_cpu.ranks.gloo import GlooCommunicator, add_up, network, share


def test_sums_of_16_bits_are_rounded_once():
    parts = [torch.tensor([256.0, 1.0]), torch.tensor([1.0, 1.0]), torch.tensor([1.0, 1.0])]
    for dtype in (torch.bfloat16, torch.float16):
        found = add_up([part.to(dtype) for part in parts])
        assert (found.dtype, found.tolist()) == (dtype, [258.0, 3.0])
    one_by_one = parts[0].bfloat16() + parts[1].bfloat16() + parts[2].bfloat16()
    assert one_by_one.tolist() == [256.0, 3.0]


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.float64])
def test_a_sum_leaves_its_parts_alone(dtype):
    parts = [torch.tensor([1, 2], dtype=dtype), torch.tensor([3, -7], dtype=dtype)]
    assert add_up(parts).tolist() == [4, -5]
    assert parts[0].tolist() == [1, 2]
    assert add_up(parts).dtype is dtype


def test_a_slice_of_each_rank():
    x = torch.arange(12).view(2, 6)
    assert [share(x, rank, 3, 1).tolist() for rank in range(3)] == [
        [[0, 1], [6, 7]],
        [[2, 3], [8, 9]],
        [[4, 5], [10, 11]],
    ]
    with pytest.raises(ValueError, match="an axis of 2 cannot be divided over 3 ranks"):
        share(x, 0, 3, 0)


def test_the_network_of_this_machine_needs_no_name():
    assert network("127.0.0.1") is not None


def test_ranks_of_one_process_are_groups_of_their_own(in_ranks):
    def twice(first, rank):
        return [first.all_reduce(torch.tensor([rank + 1.0])).item(), first.all_gather(torch.tensor([rank])).tolist()]

    assert in_ranks(GlooCommunicator, 2, twice) == [[3.0, [0, 1]]] * 2
    assert in_ranks(GlooCommunicator, 3, twice) == [[6.0, [0, 1, 2]]] * 3
