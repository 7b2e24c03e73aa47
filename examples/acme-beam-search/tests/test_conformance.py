from __future__ import annotations

from acme_beam_search.conformance import TestPackage, TestSearchOrder

__all__ = ["TestPackage", "TestSearchOrder"]
