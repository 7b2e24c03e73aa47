"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_quant_fp8.conformance import TestBlocks, TestOutputs, TestPackage, TestStatic, TestWriter

__all__ = ["TestBlocks", "TestOutputs", "TestPackage", "TestStatic", "TestWriter"]
