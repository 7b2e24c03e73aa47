from __future__ import annotations

from kernelet_router_prefix.conformance import TestPackage

__all__ = ["TestPackage"]
