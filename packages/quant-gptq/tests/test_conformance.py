"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_quant_gptq.conformance import TestActOrder, TestChannels, TestGptq, TestPackage, TestThreeBits, TestWriter

__all__ = ["TestActOrder", "TestChannels", "TestGptq", "TestPackage", "TestThreeBits", "TestWriter"]
