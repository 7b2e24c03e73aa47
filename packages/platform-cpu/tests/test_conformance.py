from __future__ import annotations

from kernelet_platform_cpu.conformance import TestPackage, TestTorchDense, TestTorchPagedAttention

__all__ = ["TestPackage", "TestTorchDense", "TestTorchPagedAttention"]
