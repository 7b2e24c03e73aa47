"""Weight formats: the suite and a slow obvious format."""

from __future__ import annotations

from kernelet.testing.weight_format.suite import WeightFormatCapabilities, WeightFormatSuite

__all__ = ["WeightFormatCapabilities", "WeightFormatSuite"]
