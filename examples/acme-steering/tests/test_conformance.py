from __future__ import annotations

from acme_steering.conformance import TestPackage, TestSteeredLayer, TestUnsteeredLayer

__all__ = ["TestPackage", "TestSteeredLayer", "TestUnsteeredLayer"]
