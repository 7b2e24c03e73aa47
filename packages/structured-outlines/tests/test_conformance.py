"""The suites that the package ships."""

from __future__ import annotations

from kernelet_structured_outlines.conformance import TestOutlines, TestPackage

__all__ = ["TestOutlines", "TestPackage"]
