"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_model_smollm2.conformance import TestPackage

__all__ = ["TestPackage"]
