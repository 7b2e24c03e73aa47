"""Collectives through memory that the processes of a machine share."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet.worker.process_group import add_up
from kernelet_platform_cpu.native import native
from kernelet_platform_cpu.ranks.gloo import GlooCommunicator

SLOT = 1 << 20
"""Bytes that a rank gives at once; more goes in several turns."""

MEMORY = Path("/dev/shm")  # noqa: S108 - names in it are made by tempfile
"""Files without a disk, where the system has them."""


class SharedMemoryCommunicator(GlooCommunicator):
    """Each rank writes to a place of its own, all meet, and each reads all places: no message, no copy in the system.

    A rank that waits gives its processor away, and sleeps after a while. Messages between two ranks go over gloo, as
    all does where the extension is missing. Every sum has the bits that gloo's has.
    """

    def __init__(self, settings: Settings, rank: int, world_size: int, address: str) -> None:
        super().__init__(settings, rank, world_size, address)
        module = native()
        self._meeting: Any = None
        self._places: tuple[Tensor, ...] = ()
        self._turn = 0
        if module is None:
            return
        start = -(-module.meeting_bytes(world_size) // mmap.PAGESIZE) * mmap.PAGESIZE
        memory = torch.frombuffer(self._map(start + 2 * world_size * SLOT), dtype=torch.uint8)
        # for two turns: who is one ahead writes elsewhere than where the others still read
        self._places = memory[start:].view(2, world_size, SLOT).unbind()
        self._meeting = module.Meeting(memory.data_ptr(), rank, world_size)

    def all_reduce(self, tensor: Any) -> Any:
        if self._meeting is None:
            return super().all_reduce(tensor)
        total = torch.empty_like(tensor, memory_format=torch.contiguous_format)
        flat = total.view(-1)
        for piece, parts in self._turns(tensor):
            flat[piece] = add_up(parts)
        return total

    def all_gather(self, tensor: Any, axis: int = -1) -> Any:
        if self._meeting is None:
            return super().all_gather(tensor, axis)
        gathered = torch.empty((self._size, tensor.numel()), dtype=tensor.dtype)
        for piece, parts in self._turns(tensor):
            torch.stack(parts, out=gathered[:, piece])
        return torch.cat(gathered.view(self._size, *tensor.shape).unbind(), dim=axis)

    def broadcast(self, tensor: Any, source: int = 0) -> Any:
        if self._meeting is None:
            return super().broadcast(tensor, source)
        result = torch.empty_like(tensor, memory_format=torch.contiguous_format)
        flat = result.view(-1)
        for piece, parts in self._turns(tensor):
            flat[piece] = parts[source]
        return result

    def close(self) -> None:
        self._meeting, self._places = None, ()
        super().close()

    def _turns(self, tensor: Tensor) -> Iterator[tuple[slice, tuple[Tensor, ...]]]:
        """Each piece of a tensor, flat, with what all ranks gave, which is there until the next turn."""
        flat = tensor.contiguous().view(-1)
        step = SLOT // flat.itemsize
        for begin in range(0, len(flat), step):
            piece = slice(begin, min(begin + step, len(flat)))
            size = (piece.stop - begin) * flat.itemsize
            parts = self._places[self._turn][:, :size].view(flat.dtype).unbind()
            self._turn ^= 1
            parts[self._rank].copy_(flat[piece])
            self._meeting.meet()
            yield piece, parts

    def _map(self, size: int) -> mmap.mmap:
        """The memory: a file that has no name any more once all ranks have it.

        Raises:
            ConfigError: there is no room for it.
        """
        if self._rank == 0:
            self._store.set("memory", _make(size))
        path = Path(self._store.get("memory").decode())
        with path.open("r+b") as file:
            memory = mmap.mmap(file.fileno(), size)
        self._group.barrier().wait()
        if self._rank == 0:
            path.unlink()
        return memory


def _make(size: int) -> str:
    """A file of zeros."""
    folder = MEMORY if os.access(MEMORY, os.W_OK) else Path(tempfile.gettempdir())
    handle, path = tempfile.mkstemp(prefix="kernelet-", dir=folder)
    try:
        os.posix_fallocate(handle, 0, size)
    except OSError as error:
        Path(path).unlink()
        raise ConfigError(
            f"{folder} has no room for {size >> 20} MiB that ranks share ({error.strerror}): give the machine or "
            "container more shared memory, or name --communicator gloo"
        ) from error
    finally:
        os.close(handle)
    return path
