"""The core's own offers pass the suites that plugins of others pass."""

from __future__ import annotations

from kernelet.testing.conformance import TestFCFS, TestLogging, TestLRU, TestPriority, TestSafetensors

__all__ = ["TestFCFS", "TestLRU", "TestLogging", "TestPriority", "TestSafetensors"]
