"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_quant_gguf.conformance import TestBlocks, TestFiles, TestPackage

__all__ = ["TestBlocks", "TestFiles", "TestPackage"]
