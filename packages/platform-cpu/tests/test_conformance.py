from __future__ import annotations

from kernelet_platform_cpu.conformance import (
    TestGlooOfFour,
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
    TestTorchInt,
    TestTorchPagedAttention,
)

__all__ = [
    "TestGlooOfFour",
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
    "TestTorchInt",
    "TestTorchPagedAttention",
]
