from __future__ import annotations

from kernelet_platform_cpu.conformance import TestPackage, TestPlatform, TestTorchDense, TestTorchPagedAttention

__all__ = ["TestPackage", "TestPlatform", "TestTorchDense", "TestTorchPagedAttention"]
