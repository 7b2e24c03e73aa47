"""Wrong communicators, whose ranks are threads."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

from kernelet.contracts.executor import CommunicatorOffer
from kernelet.contracts.offer import Settings
from kernelet.testing.communicator.reference import MeshCommunicator
from kernelet.testing.communicator.suite import CommunicatorCapabilities, CommunicatorSuite
from kernelet.testing.faults import Fault
from kernelet.testing.offered import Offered

LONG = 600.0
"""Seconds that a hanging rank hangs, unless the process ends first."""


def suite_of(communicator: type[Any], deadline: float = 60.0) -> type[CommunicatorSuite]:
    """The suite as the author of that communicator writes it."""

    class Faulty(CommunicatorSuite):
        capabilities = CommunicatorCapabilities(threads=True, deadline=deadline)

        @pytest.fixture
        def offered(self) -> Offered[CommunicatorOffer]:
            offer = CommunicatorOffer(name="faulty", target=f"{communicator.__module__}:{communicator.__qualname__}")
            return Offered(offer=offer, settings=Settings(plugin="faulty"), target=communicator)

    return Faulty


class NotACommunicator:
    def __init__(self, *_: object) -> None:
        """Takes anything."""


class LeavesOneOut(MeshCommunicator):
    def all_reduce(self, tensor: Any) -> Any:
        return sum(self._exchange(tensor)[1:], torch.zeros_like(tensor))


class OwnFirst(MeshCommunicator):
    def all_reduce(self, tensor: Any) -> Any:
        parts = self._exchange(tensor)
        return sum((part for rank, part in enumerate(parts) if rank != self._rank), tensor)


class LastFirst(MeshCommunicator):
    def all_reduce(self, tensor: Any) -> Any:
        *others, last = self._exchange(tensor)
        return sum(reversed(others), last)


class LastAxisOnly(MeshCommunicator):
    def all_gather(self, tensor: Any, axis: int = -1) -> Any:
        return super().all_gather(tensor)


class NeighboursSlice(MeshCommunicator):
    def reduce_scatter(self, tensor: Any, axis: int = -1) -> Any:
        size = len(self._ranks)
        return self.all_reduce(tensor).tensor_split(size, axis)[(self._rank + 1) % size]


class FromRankZero(MeshCommunicator):
    def broadcast(self, tensor: Any, source: int = 0) -> Any:
        return super().broadcast(tensor, 0)


class FillsNothing(MeshCommunicator):
    def recv(self, tensor: Any, source: int) -> Any:
        return self._take(source)


class Widens(MeshCommunicator):
    def all_reduce(self, tensor: Any) -> Any:
        return super().all_reduce(tensor.float()) if tensor.is_floating_point() else super().all_reduce(tensor)


class OneBuffer(MeshCommunicator):
    """Every gathered tensor in the same memory."""

    buffer: Any = None

    def all_gather(self, tensor: Any, axis: int = -1) -> Any:
        gathered = super().all_gather(tensor, axis)
        if self.buffer is None or self.buffer.numel() < gathered.nbytes:
            self.buffer = torch.empty(max(1 << 16, gathered.nbytes), dtype=torch.uint8)
        view = self.buffer[: gathered.nbytes].view(gathered.dtype).reshape(gathered.shape)
        return view.copy_(gathered)


class Hangs(MeshCommunicator):
    """Waits for itself where the source is not rank 0."""

    def broadcast(self, tensor: Any, source: int = 0) -> Any:
        if source:
            threading.Event().wait(LONG)
        return super().broadcast(tensor, source)


class JoinsOnce(MeshCommunicator):
    """The first group of the process is never left."""

    group = ""

    def __init__(self, settings: Settings, rank: int, world_size: int, address: str) -> None:
        cls = type(self)
        cls.group = cls.group or address
        if cls.group != address:
            raise RuntimeError("this process is in a group")
        super().__init__(settings, rank, world_size, address)


_PLANTED: tuple[tuple[str, type[Any], str], ...] = (
    ("is-no-communicator", NotACommunicator, "is no Communicator"),
    ("leaves-a-rank-out-of-the-sum", LeavesOneOut, "all_reduce() must return the sum over all ranks"),
    ("adds-its-own-tensor-first", OwnFirst, "all_reduce() must return the same bits on every rank"),
    ("adds-the-last-rank-first", LastFirst, "all_reduce() must add in rank order"),
    ("gathers-along-the-last-axis-only", LastAxisOnly, "all_gather() must concatenate the ranks' tensors along the"),
    ("returns-the-neighbours-slice", NeighboursSlice, "reduce_scatter() must return this rank's slice"),
    ("broadcasts-from-rank-0-only", FromRankZero, "broadcast() must return the source rank's tensor"),
    ("receives-beside-the-tensor", FillsNothing, "recv() must fill the tensor that it is given"),
    ("returns-a-wider-dtype", Widens, "all_reduce() must return the dtype that it was given"),
    ("gathers-into-one-buffer", OneBuffer, "the result of all_gather() must keep its values"),
    ("joins-one-group-only", JoinsOnce, "after close() the same process must be able to join another group"),
)

FAULTS = (
    *(Fault(name=name, suite=suite_of(communicator), says=says) for name, communicator, says in _PLANTED),
    Fault(name="hangs", suite=suite_of(Hangs, deadline=3.0), says="a rank hangs"),
)
