"""IO processors: the suite, and an obvious one."""

from __future__ import annotations

from kernelet.testing.io_processor.reference import Distances
from kernelet.testing.io_processor.suite import IOProcessorCapabilities, IOProcessorSuite

__all__ = ["Distances", "IOProcessorCapabilities", "IOProcessorSuite"]
