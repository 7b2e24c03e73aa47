"""Collectives over a process group of torch that belongs to one object: a process may be in several."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import torch
import torch.distributed as dist
from torch import Tensor

from kernelet.contracts.executor import Communicator
from kernelet.contracts.offer import Settings
from kernelet.layers.dtypes import wide

PATIENCE = timedelta(minutes=30)
"""How long a rank waits for the others; one that is gone is noticed by who started it."""


class GroupCommunicator(Communicator):
    """Sums are taken in the order of ranks, of 16-bit numbers in float32, and rounded once."""

    def __init__(self, settings: Settings, rank: int, world_size: int, address: str) -> None:
        host, port = urlsplit(address).hostname or "", urlsplit(address).port or 0
        self._rank, self._size = rank, world_size
        # the store stays: two ranks may connect when they first talk
        c10d: Any = dist  # it exports more than it says
        self._store = c10d.TCPStore(host, port, world_size, is_master=rank == 0, timeout=PATIENCE)
        self._group: Any = self.make_group(c10d.PrefixStore("kernelet", self._store), rank, world_size, host)

    @abstractmethod
    def make_group(self, store: Any, rank: int, world_size: int, host: str) -> Any:
        """The group: a ``torch.distributed.Backend``.

        Args:
            store: Where ranks tell each other how they are reached.
            rank: This rank.
            world_size: Number of ranks.
            host: Of the address where they meet.

        Raises:
            ConfigError: there is no such backend here.
        """

    def all_reduce(self, tensor: Any) -> Any:
        return add_up(self._parts(tensor))

    def all_gather(self, tensor: Any, axis: int = -1) -> Any:
        return torch.cat(self._parts(tensor), dim=axis)

    def reduce_scatter(self, tensor: Any, axis: int = -1) -> Any:
        return share(self.all_reduce(tensor), self._rank, self._size, axis)

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
        """Leaves the group, once all have come here: the first rank keeps the store."""
        self.wait_for_all()
        self._group.shutdown()

    def wait_for_all(self) -> None:
        """Returns once every rank has called it."""
        self._group.barrier().wait()

    def _parts(self, tensor: Tensor) -> list[Tensor]:
        parts = [torch.empty_like(tensor, memory_format=torch.contiguous_format) for _ in range(self._size)]
        self._group.allgather([parts], [tensor.contiguous()]).wait()
        return parts


def add_up(parts: Sequence[Tensor]) -> Tensor:
    """The sum in the order of ranks, of 16-bit numbers in float32, rounded once."""
    first, *others = parts
    dtype = wide(first.dtype) if first.is_floating_point() else first.dtype
    total = first.to(dtype, copy=True)
    for part in others:
        total += part
    return total.to(first.dtype)


def share(total: Tensor, rank: int, size: int, axis: int) -> Tensor:
    """A rank's slice of an axis.

    Raises:
        ValueError: it does not divide.
    """
    if total.shape[axis] % size:
        raise ValueError(f"an axis of {total.shape[axis]} cannot be divided over {size} ranks")
    return total.chunk(size, dim=axis)[rank].contiguous()
