"""What the system knows of a tree of processes: threads, open files, memory."""

from __future__ import annotations

import os
import re
from pathlib import Path

PROC = Path("/proc")
NUMBER = re.compile(r":\[\d+\]$|-\d+$|-\w{8}(?= \(deleted\)$)")
"""What differs from one socket, generation or shared memory to the next."""


def children(pid: int) -> list[int]:
    """Processes that it started and that are there."""
    found: list[int] = []
    for task in (PROC / str(pid) / "task").glob("*"):
        try:
            found += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def tree(pid: int) -> list[int]:
    """A process and all below it; none that has ended and is not yet waited for."""
    return [one for one in (pid, *(below for child in children(pid) for below in tree(child))) if alive(one)]


def alive(pid: int) -> bool:
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def open_files(pid: int) -> list[str]:
    """What each descriptor is: ``socket``, ``pipe``, ``anon_inode:[eventpoll]``, a path, without what numbers it."""
    found = []
    for entry in (PROC / str(pid) / "fd").iterdir():
        try:
            found.append(NUMBER.sub("", str(entry.readlink())))
        except OSError:
            continue
    return sorted(found)


def resident(pid: int) -> int:
    """Bytes of memory that it alone has."""
    fields = dict(line.split(":") for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines()[1:])
    return sum(int(fields[name].split()[0]) * 1024 for name in ("Private_Clean", "Private_Dirty"))


def cpu_seconds(pid: int) -> float:
    """Processor time so far, of all its threads."""
    fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
