from __future__ import annotations

from acme_recorder.conformance import TestPackage, TestRecorder

__all__ = ["TestPackage", "TestRecorder"]
