"""GPUs as the kernel's driver lists them: no library is needed, and no context is made.

Files of ``/sys/class/kfd/kfd/topology``, see ``drivers/gpu/drm/amd/amdkfd/kfd_topology.c`` of Linux.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelet.config import env
from kernelet.errors import ConfigError
from kernelet_device_torch.visible import visible

TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")
DEVICE = Path("/dev/kfd")
FIRST, SECOND = "ROCR_VISIBLE_DEVICES", ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
"""Variables: the runtime below counts all GPUs, the one above those that it left; it reads the first that is set."""

LOCAL_HEAPS = frozenset({1, 2})
"""Heaps of memory that are the GPU's own: what the host can map, and what it cannot."""


class NoDriverError(ConfigError):
    """GPUs cannot be looked up; says why."""


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU, or a partition of one that looks like one.

    Attributes:
        uuid: As ``rocminfo`` shows it; empty where the GPU has none.
        target: What compilers call it, ``"gfx942"``.
        memory_bytes: Its own memory.
        compute_units: Number of them.
        wave_size: Threads that run in step.
    """

    uuid: str
    target: str
    memory_bytes: int
    compute_units: int
    wave_size: int


def look_up(topology: Path = TOPOLOGY, device: Path = DEVICE) -> tuple[Gpu, ...]:
    """All GPUs that the kernel lets this process know, in the order in which the runtime counts them.

    Raises:
        NoDriverError: there is no driver, or this user may not use it.
    """
    if not topology.is_dir():
        raise NoDriverError(f"no AMD GPU driver is loaded: there is no {topology}")
    nodes = sorted((node for node in topology.iterdir() if node.name.isdigit()), key=lambda node: int(node.name))
    gpus = tuple(gpu for node in nodes if (gpu := _gpu(node)) is not None)
    if gpus and not os.access(device, os.R_OK | os.W_OK):
        raise NoDriverError(
            f"there is {names(gpus)}, but this user may not open {device}: join its group (`render` or `video`), or "
            f"pass it to the container with --device {device} --device /dev/dri"
        )
    return gpus


def visible_gpus(gpus: Sequence[Gpu], variables: Mapping[str, str | None]) -> tuple[Gpu, ...]:
    """What a process sees, in its order.

    Args:
        gpus: As ``look_up`` found them.
        variables: As ``visible_values`` gives them.
    """
    left = tuple(gpus[index] for index in visible(variables.get(FIRST), [gpu.uuid for gpu in gpus]))
    values = (variables.get(name) for name in SECOND)
    value = next((value for value in values if value is not None), None)
    return tuple(left[index] for index in visible(value, [gpu.uuid for gpu in left]))


def visible_values() -> dict[str, str | None]:
    """The variables that the runtime reads."""
    return {name: env.of_system(name) for name in (FIRST, *SECOND)}


def names(gpus: Sequence[Gpu]) -> str:
    """For people: each kind once, with its number."""
    kinds = list(dict.fromkeys(gpu.target for gpu in gpus))
    counts = [sum(gpu.target == kind for gpu in gpus) for kind in kinds]
    return ", ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in zip(kinds, counts, strict=True))


def _gpu(node: Path) -> Gpu | None:
    """The GPU of a node; None: it is a processor, or a GPU that this container may not know."""
    facts = _facts(node / "properties")
    version = facts.get("gfx_target_version", 0)
    if not version or not facts.get("simd_count"):
        return None
    banks = [_facts(bank / "properties") for bank in sorted((node / "mem_banks").glob("*"))]
    unique = facts.get("unique_id", 0)
    return Gpu(
        uuid=f"GPU-{unique:016x}" if unique else "",
        target=f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}",
        memory_bytes=sum(bank.get("size_in_bytes", 0) for bank in banks if bank.get("heap_type") in LOCAL_HEAPS),
        compute_units=facts["simd_count"] // max(1, facts.get("simd_per_cu", 1)),
        wave_size=facts.get("wave_front_size", 64),
    )


def _facts(file: Path) -> dict[str, int]:
    """Lines "name value"; none where the file may not be read."""
    try:
        lines = file.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return {}
    pairs = (line.split() for line in lines)
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
