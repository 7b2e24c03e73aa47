"""Tells the C library to keep what a step frees for the next step."""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import weakref
from collections.abc import Sequence
from threading import Lock

import torch

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
LARGEST_ON_HEAP = 32 << 20
"""glibc takes no more."""
KEPT = 256 << 20
"""Bytes of free memory that stay with the process."""
WEIGHT = 1 << 20
"""Bytes from which a tensor is a weight, or a part of one, while weights are loaded."""
SLAB = 32 << 20
"""Bytes that weights of up to half as many share."""
LARGE_PAGE = 2 << 20


def keep_freed_memory() -> bool:
    """Makes glibc serve tensors from memory that it keeps, not from new pages that the kernel clears each time.

    Call it before the thread that computes is started: a thread that has an arena of its own gives its pages back
    whatever the threshold. Decoding at 4000 tokens of context takes a sixth of the time with it.

    Returns:
        False where the C library has no ``mallopt``; nothing is changed then.
    """
    return _set((M_MMAP_THRESHOLD, LARGEST_ON_HEAP), (M_TRIM_THRESHOLD, KEPT), (M_ARENA_MAX, 1))


def return_freed_weights() -> bool:
    """Makes glibc give the memory of large tensors back at once, until ``keep_freed_memory``.

    Kept memory of weights on their way to a kernel has small pieces between it soon, and is of no use for the next.

    Returns:
        As ``keep_freed_memory``.
    """
    return _set((M_MMAP_THRESHOLD, WEIGHT))


def return_free_memory() -> None:
    """Gives back what is free now, also between pieces that are not; other C libraries do so by themselves.

    Making and reading a tokenizer leaves tens of megabytes, a weight on its way to a kernel some hundred kilobytes.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


def _set(*settings: tuple[int, int]) -> bool:
    library = ctypes.CDLL(None)
    return hasattr(library, "mallopt") and all(library.mallopt(name, value) for name, value in settings)


def zeroed(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """A tensor of zeros whose pages are taken when they are first written, large ones where the system has them.

    ``torch.zeros`` writes every page at once: seconds for a cache of many gigabytes.
    """
    count = math.prod(shape)
    if not count:
        return torch.zeros(tuple(shape), dtype=dtype)
    return torch.frombuffer(_pages(count * dtype.itemsize), dtype=dtype, count=count).view(tuple(shape))


def zeroed_weight(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """The same for one of many weights: it lies behind the one before, so that both may be on a large page.

    A page of 4 KiB is read in less time than its address is looked up on a virtual machine: reading all weights for a
    token takes a tenth less from large ones.
    """
    size = math.prod(shape) * dtype.itemsize
    if not 0 < size <= SLAB // 2:
        return zeroed(shape, dtype)
    pages, at = _SLABS.take(-(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
    return torch.frombuffer(pages, dtype=dtype, count=math.prod(shape), offset=at).view(tuple(shape))


class _Slabs:
    """Hands out parts of a slab, then of the next one. A slab goes when no tensor is in it any more."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._slab: weakref.ref[mmap.mmap] | None = None
        self._used = 0

    def take(self, size: int) -> tuple[mmap.mmap, int]:
        """So many bytes: the slab and where they begin in it."""
        with self._lock:
            slab = None if self._slab is None else self._slab()
            if slab is None or self._used + size > len(slab):
                slab = _pages(SLAB + LARGE_PAGE)
                self._slab = weakref.ref(slab)
                self._used = -torch.frombuffer(slab, dtype=torch.uint8).data_ptr() % LARGE_PAGE
            begin, self._used = self._used, self._used + size
            return slab, begin


_SLABS = _Slabs()


def _pages(size: int) -> mmap.mmap:
    # private: the system has large pages for these, but seldom for memory that could be shared
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without large pages
            pages.madvise(mmap.MADV_HUGEPAGE)
    return pages
