from __future__ import annotations

from kernelet_platform_cpu.conformance import TestTorchDense, TestTorchPagedAttention

__all__ = ["TestTorchDense", "TestTorchPagedAttention"]
