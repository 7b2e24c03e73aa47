from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.distributed as dist

from kernelet.contracts.offer import Settings
from kernelet.testing.communicator.ranks import free_address
from kernelet.worker.process_group import GroupCommunicator, add_up, share


class Group(GroupCommunicator):
    def make_group(self, store, rank, world_size, host):
        assert host == "127.0.0.1"
        options = dist.ProcessGroupGloo._Options()
        options._devices = [dist.ProcessGroupGloo.create_device(hostname=host)]
        return dist.ProcessGroupGloo(store, rank, world_size, options)


def test_what_a_group_must_have():
    assert GroupCommunicator.__abstractmethods__ == {"make_group"}


def test_ranks_meet_talk_and_leave():
    def main(rank):
        group = Group(Settings(plugin="x"), rank, 2, address)
        mine = torch.tensor([[1.0 + rank, 2.0], [3.0, 4.0]])
        found = [
            group.all_reduce(mine).tolist(),
            group.all_gather(mine, 0).tolist(),
            group.reduce_scatter(mine, 1).tolist(),
            group.broadcast(mine, 1).tolist(),
        ]
        if rank:
            group.send(mine, 0)
        else:
            found.append(group.recv(torch.zeros(2, 2), 1).tolist())
        group.close()
        return found

    address = free_address()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(main, range(2))
    assert first[0] == second[0] == [[3.0, 4.0], [6.0, 8.0]]
    assert first[1] == second[1] == [[1.0, 2.0], [3.0, 4.0], [2.0, 2.0], [3.0, 4.0]]
    assert (first[2], second[2]) == ([[3.0], [6.0]], [[4.0], [8.0]])
    assert first[3] == second[3] == first[4] == [[2.0, 2.0], [3.0, 4.0]]


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
