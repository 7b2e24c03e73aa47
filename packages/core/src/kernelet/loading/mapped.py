"""A file that is mapped into memory, whose pages are given back when the last tensor on them is gone."""

from __future__ import annotations

import mmap
import weakref
from math import prod
from pathlib import Path

import torch
from torch import Tensor


class MappedFile:
    """Tensors on the pages of a file. Who writes to one changes a page of this process, not the file.

    Attributes:
        live: Bytes of the tensors that are still held by somebody.

    Args:
        path: An existing file that is not empty.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self.live = 0

    def tensor(self, begin: int, dtype: torch.dtype, shape: tuple[int, ...]) -> Tensor:
        """The tensor at an offset: a view of the file, or a copy where it is not aligned."""
        nbytes = prod(shape) * dtype.itemsize
        if not nbytes:
            return torch.empty(shape, dtype=dtype)
        view = memoryview(self._map)[begin : begin + nbytes]
        if begin % dtype.itemsize:
            return torch.frombuffer(bytearray(view), dtype=dtype).view(shape)
        self._advise("MADV_WILLNEED", begin - begin % mmap.PAGESIZE, begin + nbytes)
        self.live += nbytes
        # the tensor's storage holds the view: it dies when no tensor uses the memory any more
        weakref.finalize(view, self._release, begin, begin + nbytes).atexit = False
        return torch.frombuffer(view, dtype=dtype).view(shape)

    def _release(self, begin: int, end: int) -> None:
        self.live -= end - begin
        # pages at the ends belong to other tensors too, which may have been written to
        first = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE
        self._advise("MADV_DONTNEED", first, end - end % mmap.PAGESIZE)

    def _advise(self, name: str, begin: int, end: int) -> None:
        if begin < end and hasattr(mmap, name):
            self._map.madvise(getattr(mmap, name), begin, end - begin)
