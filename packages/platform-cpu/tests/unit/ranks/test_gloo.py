from __future__ import annotations

import torch

from kernelet_platform_cpu.ranks.gloo import GlooCommunicator, network


def test_the_network_of_this_machine_needs_no_name():
    assert network("127.0.0.1") is not None


def test_ranks_of_one_process_are_groups_of_their_own(in_ranks):
    def twice(first, rank):
        return [first.all_reduce(torch.tensor([rank + 1.0])).item(), first.all_gather(torch.tensor([rank])).tolist()]

    assert in_ranks(GlooCommunicator, 2, twice) == [[3.0, [0, 1]]] * 2
    assert in_ranks(GlooCommunicator, 3, twice) == [[6.0, [0, 1, 2]]] * 3
