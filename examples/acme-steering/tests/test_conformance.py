from __future__ import annotations

from acme_steering.conformance import TestPackage

__all__ = ["TestPackage"]
