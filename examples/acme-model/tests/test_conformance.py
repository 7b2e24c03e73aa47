from __future__ import annotations

from acme_model.conformance import TestGPT2, TestPackage

__all__ = ["TestGPT2", "TestPackage"]
