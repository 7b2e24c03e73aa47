"""Tool parsers: the suite."""

from __future__ import annotations

from kernelet.testing.parsing.sample import Sample
from kernelet.testing.parsing.suite import Render
from kernelet.testing.tool_parser.suite import ToolParserCapabilities, ToolParserSuite

__all__ = ["Render", "Sample", "ToolParserCapabilities", "ToolParserSuite"]
