"""What kernels are compiled for, and what each of it can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kernelet.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Target:
    """A device's instruction set.

    Attributes:
        name: Of the table.
        backend: Of the compiler; empty: the interpreter.
        arch: As the compiler calls it.
        warp_size: Threads that run in step.
        shared_bytes: Shared memory that a program may have.
        max_registers: Of a thread.
        converts_e4m3fn: Converts 8-bit floats itself.
        matrix: What a product of matrices of 16 bits must become; the first is that of large tiles.
    """

    name: str
    backend: str = ""
    arch: int | str = ""
    warp_size: int = 32
    shared_bytes: int = 1 << 30
    max_registers: int = 255
    converts_e4m3fn: bool = False
    matrix: tuple[str, ...] = ()


def _targets(*targets: Target) -> Mapping[str, Target]:
    return MappingProxyType({target.name: target for target in targets})


INTERPRETER = Target(name="interpreter")

TARGETS = _targets(
    Target(name="sm80", backend="cuda", arch=80, shared_bytes=166912, matrix=("mma.sync",)),
    Target(name="sm86", backend="cuda", arch=86, shared_bytes=101376, matrix=("mma.sync",)),
    Target(name="sm89", backend="cuda", arch=89, shared_bytes=101376, converts_e4m3fn=True, matrix=("mma.sync",)),
    Target(
        name="sm90",
        backend="cuda",
        arch=90,
        shared_bytes=232448,
        converts_e4m3fn=True,
        matrix=("wgmma.mma_async", "mma.sync"),
    ),
    Target(
        name="sm100",
        backend="cuda",
        arch=100,
        shared_bytes=232448,
        converts_e4m3fn=True,
        matrix=("tcgen05.mma", "mma.sync"),
    ),
    Target(name="sm120", backend="cuda", arch=120, shared_bytes=101376, converts_e4m3fn=True, matrix=("mma.sync",)),
    Target(
        name="gfx942",
        backend="hip",
        arch="gfx942",
        warp_size=64,
        shared_bytes=65536,
        max_registers=512,
        matrix=("v_mfma_",),
    ),
    Target(
        name="gfx950",
        backend="hip",
        arch="gfx950",
        warp_size=64,
        shared_bytes=163840,
        max_registers=512,
        converts_e4m3fn=True,
        matrix=("v_mfma_",),
    ),
    Target(name="gfx1100", backend="hip", arch="gfx1100", shared_bytes=65536, max_registers=256, matrix=("v_wmma_",)),
)

REPORTED = ("sm80", "sm89", "sm90", "sm100", "sm120", "gfx942", "gfx950", "gfx1100")
"""Targets of the report; the others are served like one of them, but for smaller memory."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {"sm87": "sm80", "sm103": "sm100", "sm121": "sm120", "gfx1101": "gfx1100"}
)
"""Targets that are served as another one is."""


def target_of(device: Any) -> Target:
    """The target of a device.

    Args:
        device: A ``torch.device``; on a CPU, kernels are interpreted.

    Raises:
        ConfigError: it is not in the table.
    """
    import torch

    if device.type == "cpu":
        return INTERPRETER
    properties = torch.cuda.get_device_properties(device)
    if torch.version.hip is not None:
        name = str(properties.gcnArchName).partition(":")[0]
    else:
        name = f"sm{properties.major}{properties.minor}"
    return named(name)


def named(name: str) -> Target:
    """A target of the table.

    Raises:
        ConfigError: there is none of that name.
    """
    found = TARGETS.get(ALIASES.get(name, name))
    if found is None:
        raise ConfigError(f"there are no configurations for the target {name}: choose among {sorted(TARGETS)}")
    return found
