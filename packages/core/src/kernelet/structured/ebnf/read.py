"""Tells the syntaxes of grammars apart."""

from __future__ import annotations

import re
from typing import Final

from kernelet.contracts.structured import GrammarRules
from kernelet.structured.ebnf.gbnf import parse_gbnf
from kernelet.structured.ebnf.lark import parse_lark
from kernelet.structured.refusal import InvalidConstraintError

_GBNF: Final = re.compile(r"^\s*[A-Za-z_][A-Za-z0-9_-]*\s*::=", re.MULTILINE)
_LARK: Final = re.compile(r"^\s*(%[a-z]|[?!]{0,2}[A-Za-z_][A-Za-z0-9_]*(\{[^{}\n]*\})?(\.-?[0-9]+)?\s*:)", re.MULTILINE)


def parse_grammar(text: str) -> GrammarRules:
    """The rules of a grammar: with ``::=``, and ``root``; or as Lark writes them, with ``:`` and ``start``.

    Raises:
        InvalidConstraintError: it does not parse, a rule is missing or there twice, or it derives no text.
        UnenforcedError: it needs what is not enforced.
    """
    if _GBNF.search(text):
        return parse_gbnf(text)
    if _LARK.search(text):
        return parse_lark(text)
    raise InvalidConstraintError(
        "no rule is found, neither 'root ::= ...' nor 'start: ...'", "grammar, line 1, column 1"
    )
