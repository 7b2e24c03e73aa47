from __future__ import annotations

from acme_watermark.conformance import TestPackage, TestWatermark

__all__ = ["TestPackage", "TestWatermark"]
