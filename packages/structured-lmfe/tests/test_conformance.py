"""The suites that the package ships."""

from __future__ import annotations

from kernelet_structured_lmfe.conformance import TestLmfe, TestPackage

__all__ = ["TestLmfe", "TestPackage"]
