"""What runs here, and what the device reaches: bandwidth of copies, and the fastest product."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

PACKAGES = ("torch", "triton", "numpy", "flash-attn", "flash-attn-3", "flash-attn-4", "flashinfer-python", "amd-aiter")
COPY_BYTES, SMALL_COPY_BYTES = 1 << 30, 1 << 22
SIDE, SMALL_SIDE = 8192, 128


@dataclass
class Machine:
    """A device, or the interpreter on a CPU.

    Attributes:
        device: ``"cuda"`` or ``"cpu"``.
        name: Of the device.
        dtype: What is timed.
        bandwidth: Bytes a second that a copy reads and writes; 0 before ``measure``.
        peak: Operations a second of a large product; 0 before ``measure``.
    """

    device: str
    name: str
    dtype: torch.dtype = torch.bfloat16
    bandwidth: float = 0.0
    peak: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def is_real(self) -> bool:
        """Whether there is a device: else shapes are small, and times say nothing."""
        return self.device == "cuda"

    def facts(self) -> dict[str, Any]:
        return {"device": self.device, "name": self.name, "versions": self.versions}

    def roofline(self) -> dict[str, float]:
        return {"copy_bytes_per_second": self.bandwidth, "product_operations_per_second": self.peak}

    def measure(self) -> None:
        """Finds ``bandwidth`` and ``peak``."""
        size = COPY_BYTES if self.is_real else SMALL_COPY_BYTES
        source, target = (torch.zeros(size, dtype=torch.uint8, device=self.device) for _ in range(2))
        self.bandwidth = 2 * size / self.seconds(lambda: target.copy_(source))
        side = SIDE if self.is_real else SMALL_SIDE
        a, b = (torch.randn(side, side, device=self.device).to(self.dtype) for _ in range(2))
        self.peak = 2 * side**3 / self.seconds(lambda: torch.nn.functional.linear(a, b))

    def least(self, nbytes: float, operations: float) -> float:
        """Seconds that the device cannot beat."""
        return max(nbytes / self.bandwidth, operations / self.peak)

    def seconds(self, call: Callable[[], Any]) -> float:
        """Of a call, the median of some, with a cold cache where there is a device."""
        if self.is_real:
            from triton.testing import do_bench

            return float(do_bench(call, warmup=10, rep=60, return_mode="median")) / 1e3
        call()
        start = time.perf_counter()
        call()
        return time.perf_counter() - start


def look(wanted: str) -> Machine:
    """The device that was asked for.

    Raises:
        SystemExit: there is none.
    """
    versions = {"python": platform.python_version(), "cuda": torch.version.cuda or "", "hip": torch.version.hip or ""}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = ""
    has = wanted != "interpreter" and torch.cuda.is_available()
    if wanted == "cuda" and not has:
        raise SystemExit("torch sees no device: see that its build is for this machine, or use --device interpreter")
    if has:
        properties = torch.cuda.get_device_properties(0)
        versions["capability"] = f"{properties.major}.{properties.minor}"
        return Machine(device="cuda", name=properties.name, versions=versions)
    if wanted == "auto":
        raise SystemExit("torch sees no device. To try the bundle without one: run.sh --device interpreter")
    return Machine(device="cpu", name="Triton's interpreter", dtype=torch.float32, versions=versions)
