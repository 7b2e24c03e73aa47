"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_quant_compressed_tensors.conformance import (
    TestFloat8,
    TestInt8,
    TestPackage,
    TestPacked4,
    TestPacked5,
    TestPackedPoints,
    TestWriter,
)

__all__ = ["TestFloat8", "TestInt8", "TestPackage", "TestPacked4", "TestPacked5", "TestPackedPoints", "TestWriter"]
