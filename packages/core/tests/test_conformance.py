"""The core's own offers pass the suites that plugins of others pass."""

from __future__ import annotations

from kernelet.testing.conformance import TestFCFS, TestLogging, TestLRU, TestPackage, TestPriority, TestSafetensors

__all__ = ["TestFCFS", "TestLRU", "TestNullPlatform", "TestLogging", "TestPackage", "TestPriority", "TestSafetensors"]
