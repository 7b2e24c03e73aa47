from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_grammars import WRITTEN

from kernelet.structured.ebnf.lark import parse_lark
from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError
from kernelet.structured.rules import is_recursive
from kernelet.testing.grammar_engine.reference import recognizes

TEXTS = st.lists(st.text(alphabet='abcBé\n"\\', max_size=4), min_size=6, max_size=6)


@given(WRITTEN, TEXTS, st.sampled_from(["start: {}", "start: A\nA: {}", "start: x\nx: A | A\nA: B\nB: {}"]))
def test_items_mean_what_regular_expressions_mean(written, texts, form):
    rules = parse_lark(form.format(written.lark))
    for text in texts:
        assert recognizes(rules, text) == (re.fullmatch(written.python, text) is not None), (written.lark, text)


CALCULATOR = """
?start: sum
      | NAME "=" sum    -> assign_var

?sum: product
    | sum "+" product   -> add
    | sum "-" product   -> sub

?product: atom
    | product "*" atom  -> mul

?atom: NUMBER           -> number
     | "-" atom         -> neg
     | NAME             -> var
     | "(" sum ")"

%import common.CNAME -> NAME
%import common.NUMBER
%import common.WS_INLINE

%ignore WS_INLINE
"""


def test_what_is_ignored_stands_between_terminals():
    rules = parse_lark(CALCULATOR)
    assert is_recursive(rules)
    for text in ("a = 1 + 2*(3 - -x_1)", "\t7 ", "1"):
        assert recognizes(rules, text), text
    for text in ("a =", "x 1", "1 2", "x_ 1", "1\n", ""):
        assert not recognizes(rules, text), text


JSON = """
    ?start: value
    ?value: object | array | ESCAPED_STRING | SIGNED_NUMBER | "true" -> true | "null" -> null
    array  : "[" [value ("," value)*] "]"
    object : "{" [pair ("," pair)*] "}"
    pair   : ESCAPED_STRING ":" value
    %import common (ESCAPED_STRING, SIGNED_NUMBER, WS)
    %ignore WS
"""


def test_a_grammar_of_json():
    rules = parse_lark(JSON)
    assert recognizes(rules, '{"a\\"": [1, -2.5e3, {}], "b":null}\n')
    assert not recognizes(rules, "{a: 1}") and not recognizes(rules, "[1,]")


def test_terminals_have_nothing_ignored_in_them():
    rules = parse_lark('start: A A\nA: "x" "y"\n%ignore " "\n%ignore /#[^#]*#/')
    assert recognizes(rules, "xy  #c# xy ") and not recognizes(rules, "x yxy")


def test_a_rule_may_follow_without_an_empty_line_and_begin_with_a_mark():
    rules = parse_lark('start: a? b\n?a: "x"\n!b: "y"')
    assert recognizes(rules, "xy") and recognizes(rules, "y")


@pytest.mark.parametrize(
    "grammar, says",
    [
        ("start: a", "line 1, column 8: there is no rule 'a'"),
        ("start: A", "line 1, column 8: there is no terminal 'A'"),
        ('start: "a"\nstart: "b"', "line 2, column 1: the rule 'start' is there twice"),
        ('start: A\nA: "a"\nA: "b"', "line 3, column 1: the terminal 'A' is there twice"),
        ('a: "b"', "there is no rule 'start'"),
        ('start: ("a"', r"column 8: '\)' is missing"),
        ("start: [", r"column 8: '\]' is missing"),
        ('start: "a"]', r"column 11: '\]' closes nothing"),
        ('start: A\nA: "b" A', "line 2, column 8: the terminal 'A' refers to itself"),
        ('start: A\nA: b\nb: "x"', "line 2, column 4: there is no terminal 'b'"),
        ("start: /a(b/", "column 8: regex, character 2: "),
        ("start: /a", "column 8: '/' is missing"),
        ('start: "a"~3..1', "column 11: the numbers"),
        ('start: "a"~', "column 11: a count is"),
        ('start: "b".."a"', "column 8: a range goes from"),
        ('start: "a"..b', "column 8: a range is"),
        ('start: "a" ->', "an alias is"),
        ("start: start", "no text"),
        ("%import common.NONE\nstart: NONE", "line 1, column 1: there is no common terminal 'NONE'"),
        ("%import\nstart: A", "an import is"),
        ('start: "a" ;', "column 12: ';' means nothing"),
        ('"a"', "a rule or a terminal is expected"),
    ],
)
def test_errors_name_their_place(grammar, says):
    with pytest.raises(InvalidConstraintError, match=says):
        parse_lark(grammar)


@pytest.mark.parametrize(
    "grammar, says",
    [
        ("%import foo.BAR\nstart: BAR", "line 1, column 1: only common"),
        ('start: x{"a"}\nx{y}: y', "line 1, column 8: templates are not supported, as 'x'"),
        ('x{y}: y\nstart: "a"', "line 1, column 1: templates are not supported, as 'x'"),
        ("start: /(?=a)b/", "column 8: regex, character 1: look-around"),
        ('start: /".*?"/', "column 8: regex, character 3: lazy"),
        ("start: /^a/m", "column 8: the flag m"),
        ("%declare X\nstart: X", "line 1, column 1: %declare"),
        ('start: "a"\n%override A: "b"', "line 2, column 1: %override"),
    ],
)
def test_what_is_not_enforced_is_refused(grammar, says):
    with pytest.raises(UnenforcedError, match=says):
        parse_lark(grammar)


def test_many_terminals_that_use_each_other_need_no_deep_stack():
    terminals = "\n".join(f"T{number}: T{number + 1}" for number in range(1500))
    assert recognizes(parse_lark(f'start: T0\n{terminals}\nT1500: "x"'), "x")
