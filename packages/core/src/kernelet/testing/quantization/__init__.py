"""Quantization methods: the suite."""

from __future__ import annotations

from kernelet.testing.quantization.suite import QuantizationCapabilities, QuantizationSuite

__all__ = ["QuantizationCapabilities", "QuantizationSuite"]
