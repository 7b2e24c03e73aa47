from __future__ import annotations

import pytest

from kernelet.structured.ebnf import parse_grammar
from kernelet.structured.refusal import InvalidConstraintError
from kernelet.testing.grammar_engine.reference import recognizes


@pytest.mark.parametrize(
    "grammar",
    [
        'root ::= "a" | "b"',
        '# root: "x"\nroot   ::=\n "a" | "b"',
        'start: "a" | "b"',
        '// ::=\n?start.3 : A\nA: "a".."b"',
    ],
)
def test_both_syntaxes_are_known(grammar):
    rules = parse_grammar(grammar)
    assert recognizes(rules, "a") and recognizes(rules, "b") and not recognizes(rules, "ab")


def test_a_text_with_colons_is_no_rule():
    assert recognizes(parse_grammar('start: "x ::= y"'), "x ::= y")
    assert recognizes(parse_grammar('root ::= "start: x"'), "start: x")


@pytest.mark.parametrize("grammar", ["", "hello", '"a" | "b"', "# comment"])
def test_what_has_no_rule_says_so(grammar):
    with pytest.raises(InvalidConstraintError, match="line 1, column 1: no rule"):
        parse_grammar(grammar)
