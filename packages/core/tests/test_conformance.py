"""The core's own offers pass the suites that plugins of others pass."""

from __future__ import annotations

from kernelet.testing.conformance import (
    TestFCFS,
    TestLogging,
    TestLRU,
    TestNullPlatform,
    TestPackage,
    TestPriority,
    TestSafetensors,
)

__all__ = ["TestFCFS", "TestLRU", "TestLogging", "TestNullPlatform", "TestPackage", "TestPriority", "TestSafetensors"]
