"""Writers of quantized checkpoints: the suite, and a random model to write."""

from __future__ import annotations

from kernelet.testing.quantizer.source import RandomSource
from kernelet.testing.quantizer.suite import QuantizerCapabilities, QuantizerSuite, read_with

__all__ = ["QuantizerCapabilities", "QuantizerSuite", "RandomSource", "read_with"]
