from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_grammars import WRITTEN

from kernelet.contracts.structured import Repeat, Text
from kernelet.structured.ebnf.gbnf import parse_gbnf
from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError
from kernelet.structured.rules import is_recursive
from kernelet.testing.grammar_engine.reference import recognizes

TEXTS = st.lists(st.text(alphabet='abcBé\n"\\', max_size=4), min_size=6, max_size=6)


@given(WRITTEN, TEXTS)
def test_items_mean_what_regular_expressions_mean(written, texts):
    rules = parse_gbnf(f"root ::= {written.gbnf}")
    for text in texts:
        assert recognizes(rules, text) == (re.fullmatch(written.python, text) is not None), (written.gbnf, text)


ARITHMETIC = r"""
# as in the field: names of all kinds, rules over several lines
root  ::= (expr "=" WS
           Some-Term "\n")+   # behind it a comment with "quotes and ::=
expr  ::= Some-Term ([-+*/] Some-Term)*
Some-Term ::= ident
  | num
  | "(" WS expr ")" WS
ident ::= [a-z] [a-z0-9_]* WS
num   ::= [0-9]+ WS
WS    ::= [ \t\n]*
"""


def test_a_grammar_with_rules_that_refer_to_each_other():
    rules = parse_gbnf(ARITHMETIC)
    assert is_recursive(rules)
    assert recognizes(rules, "x = (1+y_1)\n")
    assert recognizes(rules, "1+(2*x) = 3\n4=5\n")
    assert not recognizes(rules, "1+=3\n")
    assert all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in rules.rules)


def test_left_recursion_is_fine():
    rules = parse_gbnf('root ::= root "+" [0-9] | [0-9]')
    assert recognizes(rules, "1+2+3") and not recognizes(rules, "1+")


def test_an_alternative_may_be_empty():
    rules = parse_gbnf('root ::= "a" x\nx ::= | "b" | ()')
    assert recognizes(rules, "a") and recognizes(rules, "ab") and not recognizes(rules, "b")


def test_counts_stay_counted():
    assert parse_gbnf('root ::= "ab"{2,70}').rules == {"root": Repeat(Text("ab"), 2, 70)}
    assert parse_gbnf('root ::= "ab"{ , 7 }').rules == {"root": Repeat(Text("ab"), 0, 7)}


@pytest.mark.parametrize(
    "grammar, says",
    [
        ('root ::= "a" | b', "line 1, column 16: there is no rule 'b'"),
        ('root ::= "a"\nroot ::= "b"', "line 2, column 1: the rule 'root' is there twice"),
        ('root ::= ("a"', r"line 1, column 10: '\)' is missing"),
        ('root ::= "a")', r"line 1, column 13: '\)' closes nothing"),
        ('a ::= "b"', "there is no rule 'root'"),
        ("root ::= root", "no text"),
        ('root ::= "a', 'column 10: " is missing'),
        ('root ::= "a\n"', 'column 10: " is missing'),
        ("root ::= [a", "column 10: ']' is missing"),
        ("root ::= []", "column 10: there is no character"),
        ("root ::= [z-a]", "column 12: this is no range"),
        ('root ::= "a"{3,1}', "column 13: the numbers"),
        ('root ::= "a"{x}', "column 13: a count is"),
        ('root ::= "a"{1', "column 13: a count is"),
        ('root ::= "\\q"', "column 11: .q means nothing"),
        ('root ::= "a" -', "column 14: '-' closes nothing or means nothing"),
        ('root ::= "a" %', "column 14: '%' means nothing"),
        ('root ::= "a"**', r"column 14: '\*' means nothing"),
        ("root ::= *", r"column 10: '\*' means nothing"),
        ('root = "a"', "column 1: a rule is expected"),
        ('root ::= "\ud800"', "surrogate"),
    ],
)
def test_errors_name_their_place(grammar, says):
    with pytest.raises(InvalidConstraintError, match=says):
        parse_gbnf(grammar)


@pytest.mark.parametrize(
    "grammar, says",
    [
        ("root ::= (=a)", "column 10: look-ahead"),
        ("root ::= <think>", "column 10: tokens"),
        ("root ::= " + "(" * 40 + '"a"' + ")" * 40, "column 42: brackets are nested"),
        ('root ::= x | "a"\nx ::= x y | "b"\ny ::= "c"?', "rule x: it derives itself"),
    ],
)
def test_what_is_not_enforced_is_refused(grammar, says):
    with pytest.raises(UnenforcedError, match=says):
        parse_gbnf(grammar)
