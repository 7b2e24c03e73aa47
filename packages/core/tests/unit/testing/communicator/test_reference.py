from __future__ import annotations

import threading

import torch

from kernelet.contracts.offer import Settings
from kernelet.testing.communicator.ranks import free_address
from kernelet.testing.communicator.reference import MeshCommunicator


def test_three_ranks_by_hand():
    address, found = free_address(), {}

    def main(rank):
        mesh = MeshCommunicator(Settings(plugin="x"), rank, 3, address)
        mine = torch.tensor([1.0, 10.0, 100.0]) * (rank + 1)
        found[rank] = [
            mesh.all_reduce(mine).tolist(),
            mesh.all_gather(mine[:1]).tolist(),
            mesh.reduce_scatter(mine).tolist(),
            mesh.broadcast(mine, 2).tolist(),
        ]
        if rank:
            mesh.send(mine, 0)
        else:
            found["received"] = [mesh.recv(torch.empty(3), peer).tolist() for peer in (2, 1)]
        mesh.close()

    threads = [threading.Thread(target=main, args=(rank,)) for rank in (2, 0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for rank in range(3):
        assert found[rank] == [[6, 60, 600], [1, 2, 3], [6 * 10**rank], [3, 30, 300]]
    assert found["received"] == [[3, 30, 300], [2, 20, 200]]
