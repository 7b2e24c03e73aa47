"""The suites that the package ships."""

from __future__ import annotations

from kernelet_structured_guidance.conformance import TestGuidance, TestPackage

__all__ = ["TestGuidance", "TestPackage"]
