"""Which GPUs the kernels are compiled for."""

from __future__ import annotations

from kernelet_device_triton.targets import ALIASES, TARGETS


def why_not_compiled(target: str) -> str:
    """Why kernels do not run on a GPU of this target, e.g. ``"sm75"``; empty: they do."""
    if ALIASES.get(target, target) in TARGETS:
        return ""
    return f"kernels in Triton are compiled for {', '.join(sorted({*TARGETS, *ALIASES}))}, and a GPU here is {target}"
