"""Grammars as users write them, in two syntaxes that are told apart."""

from __future__ import annotations

from kernelet.structured.ebnf.read import parse_grammar

__all__ = ["parse_grammar"]
