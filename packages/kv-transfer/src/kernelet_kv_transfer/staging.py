"""Registered memory between pages and peers, in slots that are taken for one part of a prompt at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from kernelet_kv_transfer.errors import TransferError
from kernelet_kv_transfer.transport import Transport


@dataclass(eq=False)
class Slot:
    """A piece of memory; ``stamp`` rises with each use."""

    memory: Tensor
    stamp: int = 0

    @property
    def address(self) -> int:
        return self.memory.data_ptr()

    @property
    def size(self) -> int:
        return self.memory.numel()


@dataclass
class _Abandoned:
    slot: Slot
    settled: Callable[[], bool] = field(repr=False)


class Staging:
    """So many slots of one size, registered with a transport. Thread-safe."""

    def __init__(self, transport: Transport, count: int, size: int) -> None:
        self._transport = transport
        self._size = size
        self._all = [self._new() for _ in range(count)]
        self._free = list(self._all)
        self._abandoned: list[_Abandoned] = []
        self._changed = threading.Condition()

    @property
    def size(self) -> int:
        """Bytes of a slot."""
        return self._size

    @property
    def num_abandoned(self) -> int:
        """Slots that a transport may yet write into."""
        with self._changed:
            self._sweep()
            return len(self._abandoned)

    def take(self, timeout: float) -> Slot:
        """A slot of one's own, until ``give_back`` or ``abandon``.

        Raises:
            TransferError: none became free in so many seconds.
        """
        with self._changed:
            self._sweep()
            if not self._changed.wait_for(lambda: self._free, timeout):
                raise TransferError(f"all {len(self._all)} staging buffers were taken for {timeout:g} s")
            slot = self._free.pop()
            slot.stamp += 1
            return slot

    def give_back(self, slot: Slot) -> None:
        """Whoever still believes in its stamp is refused."""
        with self._changed:
            slot.stamp += 1
            self._free.append(slot)
            self._changed.notify()

    def abandon(self, slot: Slot, settled: Callable[[], bool]) -> None:
        """Gives up a slot that a transport may yet write into; another takes its place, for as long as that lasts."""
        with self._changed:
            self._all.remove(slot)
            self._abandoned.append(_Abandoned(slot, settled))
            self._all.append(self._new())
            self._free.append(self._all[-1])
            self._changed.notify()

    def close(self) -> None:
        """Unregisters what nobody writes into any more."""
        with self._changed:
            self._sweep()
            for slot in self._all:
                self._transport.unregister(slot.address, slot.size)

    def _new(self) -> Slot:
        slot = Slot(torch.zeros(self._size, dtype=torch.uint8))
        self._transport.register(slot.address, slot.size)
        return slot

    def _sweep(self) -> None:
        for abandoned in [one for one in self._abandoned if one.settled()]:
            self._abandoned.remove(abandoned)
            self._transport.unregister(abandoned.slot.address, abandoned.slot.size)
