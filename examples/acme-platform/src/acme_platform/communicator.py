"""Collectives over gloo, in a group that belongs to one object: a process may be in several."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

from kernelet.contracts.executor import Communicator
from kernelet.contracts.offer import Settings

PATIENCE = timedelta(minutes=5)
"""How long a rank waits for the others."""


class AcmeCommunicator(Communicator):
    """Tensors of the host. Sums are taken in the order of ranks, so that every rank has the same bits."""

    def __init__(self, settings: Settings, rank: int, world_size: int, address: str) -> None:
        """Meets the other ranks.

        Args:
            settings: The plugin's.
            rank: This one.
            world_size: How many there are.
            address: Where they meet, as torch.distributed writes it: ``"tcp://host:port"``, ``"file:///path"``.
        """
        self._rank, self._size = rank, world_size
        store, _, _ = next(iter(rendezvous(address, rank, world_size, timeout=PATIENCE)))
        self._group: Any = dist.ProcessGroupGloo(store, rank, world_size, PATIENCE)

    def all_reduce(self, tensor: Any) -> Any:
        first, *others = self._parts(tensor)
        for part in others:
            first += part
        return first

    def all_gather(self, tensor: Any, axis: int = -1) -> Any:
        return torch.cat(self._parts(tensor), dim=axis)

    def reduce_scatter(self, tensor: Any, axis: int = -1) -> Any:
        if tensor.shape[axis] % self._size:
            raise ValueError(f"an axis of {tensor.shape[axis]} cannot be divided over {self._size} ranks")
        mine: Tensor = self.all_reduce(tensor).chunk(self._size, dim=axis)[self._rank]
        return mine.contiguous()

    def broadcast(self, tensor: Any, source: int = 0) -> Any:
        result = tensor.clone(memory_format=torch.contiguous_format)
        self._group.broadcast(result, source).wait()
        return result

    def send(self, tensor: Any, destination: int) -> None:
        self._group.send([tensor.contiguous()], destination, 0).wait()

    def recv(self, tensor: Any, source: int) -> Any:
        buffer = torch.empty_like(tensor, memory_format=torch.contiguous_format)
        self._group.recv([buffer], source, 0).wait()
        return tensor.copy_(buffer)

    def close(self) -> None:
        """Leaves the group, once all have come here: the first rank keeps the place where they met."""
        self._group.barrier().wait()
        self._group.shutdown()

    def _parts(self, tensor: Tensor) -> list[Tensor]:
        parts = [torch.empty_like(tensor, memory_format=torch.contiguous_format) for _ in range(self._size)]
        self._group.allgather([parts], [tensor.contiguous()]).wait()
        return parts
