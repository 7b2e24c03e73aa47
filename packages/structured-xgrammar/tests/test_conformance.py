"""The suites that the package ships."""

from __future__ import annotations

from kernelet_structured_xgrammar.conformance import TestPackage, TestXGrammar

__all__ = ["TestPackage", "TestXGrammar"]
