"""This package passes the suite that it names."""

from __future__ import annotations

from kernelet_quant_kvcache.conformance import TestPackage

__all__ = ["TestPackage"]
