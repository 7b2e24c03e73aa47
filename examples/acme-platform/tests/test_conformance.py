from __future__ import annotations

from acme_platform.conformance import (
    TestActAndMul,
    TestAttention,
    TestCommunicator,
    TestDense,
    TestPackage,
    TestPlatform,
    TestRMSNorm,
)

__all__ = [
    "TestActAndMul",
    "TestAttention",
    "TestCommunicator",
    "TestDense",
    "TestPackage",
    "TestPlatform",
    "TestRMSNorm",
]
