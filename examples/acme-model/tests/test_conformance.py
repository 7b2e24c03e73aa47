from __future__ import annotations

from acme_model.conformance import TestGPT2

__all__ = ["TestGPT2"]
