"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_quant_online.conformance import TestInt4, TestInt8, TestPackage

__all__ = ["TestInt4", "TestInt8", "TestPackage"]
