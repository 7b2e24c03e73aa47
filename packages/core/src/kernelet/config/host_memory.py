"""How much memory this process may still take: the smallest of host, control groups (v1 and v2) and resource limits."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

KIB = 1024
UNLIMITED_V1 = 1 << 60
"""Version 1 writes the largest page-aligned integer for "no limit"; nothing real comes near."""

RLimit = Callable[[int], tuple[int, int]]


@dataclass(frozen=True, order=True)
class MemoryLimit:
    """Bytes that are left, and what says so."""

    bytes: int
    source: str


def available_memory(
    proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup"), rlimit: RLimit = resource.getrlimit
) -> MemoryLimit:
    """Bytes that this process can still take, never below 0.

    Page cache that the kernel would give back counts as available, on the host and in control groups alike.
    """
    limits = [*_host(proc), *_cgroups(proc, cgroup), *_rlimits(proc, rlimit)]
    if not limits:
        # not Linux: the machine's size is all there is to know
        limits = [MemoryLimit(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), "physical memory")]
    least = min(limits)
    return MemoryLimit(max(0, least.bytes), least.source)


def _host(proc: Path) -> Iterator[MemoryLimit]:
    available = _kib_fields(proc / "meminfo").get("MemAvailable")
    if available is not None:
        yield MemoryLimit(available, "MemAvailable of the host")


def _cgroups(proc: Path, cgroup: Path) -> Iterator[MemoryLimit]:
    for line in (_read(proc / "self/cgroup") or "").splitlines():
        hierarchy, controllers, path = line.split(":", 2)
        if hierarchy == "0" and not controllers:
            for mount in (cgroup, cgroup / "unified"):
                yield from _walk(mount, path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _walk(cgroup / "memory", path, *names)


def _walk(mount: Path, path: str, limit_name: str, usage_name: str, reclaimable: str) -> Iterator[MemoryLimit]:
    """Limits from the process's group up to the root.

    Inside a container the path may be the host's and not exist under the mount; the mount's root then is our group.
    """
    parts = [part for part in path.split("/") if part not in {"", ".."}]
    for depth in range(len(parts), -1, -1):
        folder = mount.joinpath(*parts[:depth])
        limit = _number(folder / limit_name)
        if limit is None or limit >= UNLIMITED_V1:
            continue
        used = _number(folder / usage_name) or 0
        cached = _fields(folder / "memory.stat").get(reclaimable, 0)
        yield MemoryLimit(limit - max(0, used - cached), str(folder / limit_name))


def _rlimits(proc: Path, rlimit: RLimit) -> Iterator[MemoryLimit]:
    status = _kib_fields(proc / "self/status")
    for name, number, used in (
        ("RLIMIT_AS", resource.RLIMIT_AS, "VmSize"),
        ("RLIMIT_DATA", resource.RLIMIT_DATA, "VmData"),
    ):
        soft, _ = rlimit(number)
        if soft != resource.RLIM_INFINITY:
            yield MemoryLimit(soft - status.get(used, 0), name)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None


def _number(path: Path) -> int | None:
    """The number in a file; None: no such file, or "max"."""
    text = (_read(path) or "").strip()
    return int(text) if text.isdigit() else None


def _fields(path: Path) -> dict[str, int]:
    """Lines of ``name number``."""
    pairs = (line.split() for line in (_read(path) or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) >= 2 and pair[1].isdigit()}


def _kib_fields(path: Path) -> dict[str, int]:
    """Lines of ``name: number kB``, in bytes."""
    return {name.rstrip(":"): number * KIB for name, number in _fields(path).items()}
