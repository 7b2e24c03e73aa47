"""A slow obvious communicator: a connection between every two ranks, and every rank adds up for itself."""

from __future__ import annotations

import time
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

import torch

from kernelet.contracts.executor import Communicator
from kernelet.contracts.offer import Settings
from kernelet.testing.communicator.calls import add_up, pack, unpack

Address = tuple[str, int]
PATIENCE = 30.0
"""Seconds in which rank 0 must be there."""


class MeshCommunicator(Communicator):
    """Serves ranks in processes of one machine, or in threads of one process."""

    def __init__(self, settings: Settings, rank: int, world_size: int, address: str) -> None:
        self._rank = rank
        self._ranks = range(world_size)
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        where = (host, int(port))
        self._links = _meet(where, world_size) if rank == 0 else _join(where, rank, world_size)

    def all_reduce(self, tensor: Any) -> Any:
        return add_up(self._exchange(tensor))

    def all_gather(self, tensor: Any, axis: int = -1) -> Any:
        return torch.cat(self._exchange(tensor), axis)

    def reduce_scatter(self, tensor: Any, axis: int = -1) -> Any:
        return self.all_reduce(tensor).tensor_split(len(self._ranks), axis)[self._rank]

    def broadcast(self, tensor: Any, source: int = 0) -> Any:
        if self._rank != source:
            return self._take(source)
        for peer in self._links:
            self.send(tensor, peer)
        return tensor

    def send(self, tensor: Any, destination: int) -> None:
        self._links[destination].send(pack(tensor))

    def recv(self, tensor: Any, source: int) -> Any:
        return tensor.copy_(self._take(source))

    def close(self) -> None:
        for link in self._links.values():
            link.close()

    def _take(self, source: int) -> torch.Tensor:
        return unpack(self._links[source].recv())

    def _exchange(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        """Every rank's tensor, by rank. The lower of two ranks sends first: both would wait on a full connection."""
        parts = {self._rank: tensor}
        for peer in sorted(self._links):
            if self._rank < peer:
                self.send(tensor, peer)
            parts[peer] = self._take(peer)
            if self._rank > peer:
                self.send(tensor, peer)
        return [parts[rank] for rank in self._ranks]


def _meet(where: Address, size: int) -> dict[int, Connection]:
    """Rank 0: waits for the others and tells all where all are."""
    links: dict[int, Connection] = {}
    doors: dict[int, Address] = {}
    with Listener(where, backlog=size) as door:
        while len(links) < size - 1:
            link = door.accept()
            rank, address = link.recv()
            links[rank], doors[rank] = link, address
    for link in links.values():
        link.send(doors)
    return links


def _join(where: Address, rank: int, size: int) -> dict[int, Connection]:
    """Another rank: calls rank 0 and those before it, and is called by those after it."""
    with Listener((where[0], 0), backlog=size) as door:
        links = {0: _call(where)}
        links[0].send((rank, door.address))
        doors = links[0].recv()
        for peer in range(1, rank):
            links[peer] = Client(doors[peer])
            links[peer].send(rank)
        while len(links) < size - 1:
            link = door.accept()
            links[link.recv()] = link
    return links


def _call(where: Address) -> Connection:
    """Connects to rank 0, which may come later."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return Client(where)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.005)
