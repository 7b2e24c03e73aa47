"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_ops_triton.conformance import (
    TestDense,
    TestInvariantDense,
    TestInvariantQuantized,
    TestMoE,
    TestOps,
    TestPackage,
    TestQuantized,
    some_device,
)

__all__ = [
    "TestDense",
    "TestInvariantDense",
    "TestInvariantQuantized",
    "TestMoE",
    "TestOps",
    "TestPackage",
    "TestQuantized",
    "some_device",
]
