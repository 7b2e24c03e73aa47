from __future__ import annotations

from kernelet_platform_cpu.conformance import (
    TestNativeDense,
    TestPackage,
    TestPlatform,
    TestTorchDense,
    TestTorchPagedAttention,
)

__all__ = ["TestNativeDense", "TestPackage", "TestPlatform", "TestTorchDense", "TestTorchPagedAttention"]
