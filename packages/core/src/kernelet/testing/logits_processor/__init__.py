"""Logits processors: the suite, and an obvious one."""

from __future__ import annotations

from kernelet.testing.logits_processor.reference import CountPenalty
from kernelet.testing.logits_processor.suite import LogitsProcessorCapabilities, LogitsProcessorSuite

__all__ = ["CountPenalty", "LogitsProcessorCapabilities", "LogitsProcessorSuite"]
