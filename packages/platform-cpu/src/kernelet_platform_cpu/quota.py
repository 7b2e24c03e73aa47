"""How many CPUs this process may use: its affinity, and the quota of its control groups (v1 and v2)."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path


def usable_cpus(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup"), affinity: int | None = None) -> int:
    """CPUs of the affinity mask, or fewer where a control group gives less time than that; at least 1.

    Args:
        proc: The proc file system.
        cgroup: Where control groups are mounted.
        affinity: Size of the affinity mask; None asks the kernel.
    """
    cpus = len(allowed_cpus()) if affinity is None else affinity
    quotas = [quota for quota in _quotas(proc, cgroup) if quota > 0]
    return max(1, min([cpus, *(math.ceil(quota) for quota in quotas)]))


def allowed_cpus() -> tuple[int, ...]:
    """Numbers of the CPUs of the affinity mask."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def _quotas(proc: Path, cgroup: Path) -> Iterator[float]:
    """Quotas in CPUs, from the process's group up to the root of each hierarchy."""
    for line in (_read(proc / "self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mounts, read = (cgroup, cgroup / "unified"), _v2
        elif "cpu" in controllers.split(","):
            mounts, read = (cgroup / "cpu", cgroup / "cpu,cpuacct"), _v1
        else:
            continue
        parts = [part for part in path.split("/") if part not in {"", ".."}]
        for mount in mounts:
            for depth in range(len(parts), -1, -1):
                quota = read(mount.joinpath(*parts[:depth]))
                if quota is not None:
                    yield quota


def _v2(folder: Path) -> float | None:
    fields = (_read(folder / "cpu.max") or "max").split()
    return None if fields[0] == "max" or len(fields) < 2 else int(fields[0]) / int(fields[1])


def _v1(folder: Path) -> float | None:
    quota, period = (_read(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
    if quota is None or period is None or int(quota) <= 0:
        return None
    return int(quota) / int(period)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None
