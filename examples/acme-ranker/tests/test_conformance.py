from __future__ import annotations

from acme_ranker.conformance import TestPackage, TestRanker, TestTruncatingRanker

__all__ = ["TestPackage", "TestRanker", "TestTruncatingRanker"]
