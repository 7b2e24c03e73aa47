from __future__ import annotations

from kernelet_platform_cpu.conformance import (
    TestGlooOfTwo,
    TestNativeDense,
    TestNativeInt,
    TestNativeMoE,
    TestNativeOps,
    TestNativePagedAttention,
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
    "TestNativeInt",
    "TestNativeMoE",
    "TestNativeOps",
    "TestNativePagedAttention",
    "TestPackage",
    "TestPlatform",
    "TestSharedMemoryOfFour",
    "TestSharedMemoryOfTwo",
    "TestTorchDense",
    "TestTorchPagedAttention",
    "TestTorchQuantized",
]
