from __future__ import annotations

from kernelet_quant_tools.conformance import TestPackage

__all__ = ["TestPackage"]
