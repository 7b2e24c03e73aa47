"""Reasoning parsers: the suite."""

from __future__ import annotations

from kernelet.testing.parsing.sample import Sample
from kernelet.testing.parsing.suite import Render
from kernelet.testing.reasoning_parser.suite import ReasoningParserCapabilities, ReasoningParserSuite

__all__ = ["ReasoningParserCapabilities", "ReasoningParserSuite", "Render", "Sample"]
