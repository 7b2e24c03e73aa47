"""Writers of quantized checkpoints: a random model to write."""

from __future__ import annotations

from kernelet.testing.quantizer.source import RandomSource

__all__ = ["RandomSource"]
