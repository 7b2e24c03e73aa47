"""What a helper's process may use, held by the system."""

from __future__ import annotations

import math
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

STATM: Final = Path("/proc/self/statm")
"""Sizes of this process in pages, where the system tells; the sixth is what RLIMIT_DATA counts."""


def no_core_dumps() -> None:
    """What a request had in memory is not written to a file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def data_bytes() -> int:
    """Bytes of private writable memory; 0 where the system does not tell."""
    return int(STATM.read_text().split()[5]) * resource.getpagesize() if STATM.exists() else 0


@contextmanager
def limited(memory_bytes: int, seconds: float) -> Iterator[None]:
    """Allocations beyond the limit fail; CPU time beyond it ends the process.

    The CPU limit stands behind the parent's deadline: it ends an endless loop whose parent cannot.

    Args:
        memory_bytes: On top of what the process holds (Linux; elsewhere only time is limited).
        seconds: On every CPU.
    """
    cpu = math.ceil(time.process_time() + seconds * (os.cpu_count() or 1)) + 1
    _soften(resource.RLIMIT_CPU, cpu)
    if STATM.exists():
        _soften(resource.RLIMIT_DATA, data_bytes() + memory_bytes)
    try:
        yield
    finally:
        for kind in (resource.RLIMIT_DATA, resource.RLIMIT_CPU):
            _soften(kind, resource.RLIM_INFINITY)


def _soften(kind: int, limit: int) -> None:
    """Sets what is enforced, within what this process was given."""
    hard = resource.getrlimit(kind)[1]
    bounds = [one for one in (limit, hard) if one != resource.RLIM_INFINITY]
    resource.setrlimit(kind, (min(bounds, default=resource.RLIM_INFINITY), hard))
