from __future__ import annotations

from acme_recorder.conformance import TestRecorder

__all__ = ["TestRecorder"]
