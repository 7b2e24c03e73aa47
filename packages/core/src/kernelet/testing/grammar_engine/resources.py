"""Whether memory grows with the number of calls."""

from __future__ import annotations

import gc
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

CALLS, ROUNDS = 25, 8
KEPT_OBJECTS, KEPT_PAGES = 250, 40_000
"""Bytes a call that are no growth: of Python's objects; of the process, whose allocators keep some."""

STATM = Path("/proc/self/statm")


def grown(call: Callable[[int], None]) -> bool:
    """Whether a function that is called with 0, 1, ... keeps memory at every call, in objects or beside them."""
    many(call, 0)  # what is kept for ever is there
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    try:
        objects = grows(call, 1, lambda: tracemalloc.get_traced_memory()[0], KEPT_OBJECTS)
    finally:
        if not tracing:
            tracemalloc.stop()
    return objects or grows(call, 1 + ROUNDS, resident, KEPT_PAGES)


def grows(call: Callable[[int], None], number: int, measure: Callable[[], int], kept: int) -> bool:
    """Whether each of some rounds of calls keeps more than so many bytes a call.

    What is kept once is no growth, nor what Python keeps of small objects to use it again: both come to an end.
    """
    for index in range(ROUNDS):
        before = measure()
        many(call, number + index)
        if measure() - before <= CALLS * kept:
            return False
    return True


def many(call: Callable[[int], None], number: int) -> None:
    """One round of calls."""
    for index in range(CALLS):
        call(CALLS * number + index)
    gc.collect()


def resident() -> int:
    """Bytes of memory that this process has; 0 where the system does not say it."""
    if not STATM.exists():
        return 0
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
