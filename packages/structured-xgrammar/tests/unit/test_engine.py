from __future__ import annotations

from kernelet_structured_xgrammar.engine import clean


def test_what_the_library_says_is_told_without_when_and_where():
    error = RuntimeError("[07:42:16] /project/cpp/grammar_parser.cc:820: EBNF parser error at line 1\n")

    assert clean(error) == "EBNF parser error at line 1"
    assert clean(RuntimeError("plain")) == "plain"
