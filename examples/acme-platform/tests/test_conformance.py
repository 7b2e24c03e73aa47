from __future__ import annotations

from acme_platform.conformance import TestCommunicator

__all__ = ["TestCommunicator"]
