"""What an import costs."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kernelet.kernel.doctor.messages import Cost

T = TypeVar("T")

STATM = Path("/proc/self/statm")


def resident_bytes(statm: Path = STATM) -> int:
    """Resident memory of this process; where the system does not tell, the largest that it had."""
    try:
        return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def measured(load: Callable[[], T], *, own: str = "") -> tuple[T, Cost]:
    """Runs an import.

    Args:
        load: Imports something, in a process that did not yet.
        own: Top-level package that is expected, and not listed.
    """
    modules, memory = set(sys.modules), resident_bytes()
    started = time.perf_counter()
    found = load()
    seconds = time.perf_counter() - started
    tops = {name.partition(".")[0] for name in set(sys.modules) - modules}
    tops = {top for top in tops if not top.startswith("_")} - sys.stdlib_module_names - {"kernelet", own}
    cost = Cost(seconds=seconds, bytes=max(0, resident_bytes() - memory), packages=tuple(sorted(tops)))
    return found, cost
