from __future__ import annotations

from kernelet_platform_cpu.conformance import (
    TestGlooOfTwo,
    TestNativeDense,
    TestNativeMoE,
    TestNativeOps,
    TestNativePagedAttention,
    TestNativeQuantized,
    TestPackage,
    TestPlatform,
    TestSharedMemoryOfFour,
    TestSharedMemoryOfTwo,
    TestTorchDense,
    TestTorchPagedAttention,
    TestTorchQuantized,
)

__all__ = [
    "TestGlooOfTwo",
    "TestNativeDense",
    "TestNativeMoE",
    "TestNativeOps",
    "TestNativePagedAttention",
    "TestNativeQuantized",
    "TestPackage",
    "TestPlatform",
    "TestSharedMemoryOfFour",
    "TestSharedMemoryOfTwo",
    "TestTorchDense",
    "TestTorchPagedAttention",
    "TestTorchQuantized",
]
