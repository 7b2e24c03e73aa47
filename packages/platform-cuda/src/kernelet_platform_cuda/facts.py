"""What a GPU can do, by its compute capability."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.platform import Capabilities
from kernelet_device_triton.served import why_not_compiled
from kernelet_platform_cuda.nvml import Gpu

ALWAYS = frozenset({"cuda", "flex", "graphs", "streams"})
SINCE = (
    ((8, 9), "fp8"),
    ((10, 0), "fp4"),
)
"""Features and the compute capability that brings them: matrix units for e4m3, and for e2m1."""


def capabilities_of(gpus: Sequence[Gpu]) -> Capabilities:
    """What all of the GPUs can do: the ranks of an engine compute alike.

    Args:
        gpus: Not empty.
    """
    version = min(gpu.compute_capability for gpu in gpus)
    has_bfloat16 = version >= (8, 0)
    reasons = list(filter(None, map(_why_not_compiled, gpus)))
    return Capabilities(
        device_type="cuda",
        dtypes=(*(("bfloat16",) if has_bfloat16 else ()), "float16", "float32", "float64"),
        memory_bytes=min(gpu.memory_bytes for gpu in gpus),
        num_compute_units=min(gpu.multiprocessors for gpu in gpus),
        compute_capability=version,
        features=ALWAYS.union(
            (feature for least, feature in SINCE if version >= least),
            [] if reasons else ["triton"],
        ),
        lacks=tuple(("triton", reason) for reason in reasons[:1]),
    )


def _why_not_compiled(gpu: Gpu) -> str:
    major, minor = gpu.compute_capability
    return why_not_compiled(f"sm{major}{minor}")
