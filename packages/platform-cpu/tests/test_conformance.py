from __future__ import annotations

from kernelet_platform_cpu.conformance import (
    TestNativeDense,
    TestNativeInt,
    TestNativeMoE,
    TestNativeOps,
    TestNativePagedAttention,
    TestPackage,
    TestPlatform,
    TestTorchDense,
    TestTorchInt,
    TestTorchPagedAttention,
)

__all__ = [
    "TestNativeDense",
    "TestNativeInt",
    "TestNativeMoE",
    "TestNativeOps",
    "TestNativePagedAttention",
    "TestPackage",
    "TestPlatform",
    "TestTorchDense",
    "TestTorchInt",
    "TestTorchPagedAttention",
]
