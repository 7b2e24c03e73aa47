from __future__ import annotations

from acme_platform.conformance import TestAttention, TestCommunicator, TestDense, TestPackage, TestPlatform

__all__ = ["TestAttention", "TestCommunicator", "TestDense", "TestPackage", "TestPlatform"]
