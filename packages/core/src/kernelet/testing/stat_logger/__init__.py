"""Stat loggers: the suite, and one that counts everything."""

from __future__ import annotations

from kernelet.testing.stat_logger.reference import CountingLogger
from kernelet.testing.stat_logger.suite import StatLoggerCapabilities, StatLoggerSuite

__all__ = ["CountingLogger", "StatLoggerCapabilities", "StatLoggerSuite"]
