"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_models_decoder.conformance import TestGemma2, TestLlama, TestPackage

__all__ = ["TestGemma2", "TestLlama", "TestPackage"]
