"""What a GPU can do, by its target."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.platform import Capabilities
from kernelet_device_triton.served import why_not_compiled
from kernelet_platform_rocm.kfd import Gpu

ALWAYS = frozenset({"rocm", "flex", "graphs", "streams"})
BY_TARGET = (
    ("gfx94", frozenset({"cdna3", "fp8_fnuz"})),
    ("gfx950", frozenset({"cdna3", "fp8", "fp4"})),
    ("gfx12", frozenset({"fp8"})),
)
"""Features by the beginning of the target: the instructions of CDNA 3 or later, small floats of its matrix units."""


def features_of(gpu: Gpu) -> frozenset[str]:
    """What one GPU can do."""
    own = (features for start, features in BY_TARGET if gpu.target.startswith(start))
    compiled = set[str]() if why_not_compiled(gpu.target) else {"triton"}
    return ALWAYS.union({gpu.target, f"wave{gpu.wave_size}"}, compiled, *own)


def capabilities_of(gpus: Sequence[Gpu]) -> Capabilities:
    """What all of the GPUs can do: the ranks of an engine compute alike.

    Args:
        gpus: Not empty.
    """
    reasons = list(filter(None, (why_not_compiled(gpu.target) for gpu in gpus)))
    return Capabilities(
        device_type="cuda",  # torch's name of devices of HIP
        dtypes=("bfloat16", "float16", "float32", "float64"),
        memory_bytes=min(gpu.memory_bytes for gpu in gpus),
        num_compute_units=min(gpu.compute_units for gpu in gpus),
        features=frozenset.intersection(*(features_of(gpu) for gpu in gpus)),
        lacks=tuple(("triton", reason) for reason in reasons[:1]),
    )
