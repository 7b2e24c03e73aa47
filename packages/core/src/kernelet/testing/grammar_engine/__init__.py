"""Grammar engines: the suite."""

from __future__ import annotations

from kernelet.testing.grammar_engine.suite import GrammarEngineCapabilities, GrammarEngineSuite

__all__ = ["GrammarEngineCapabilities", "GrammarEngineSuite"]
