from __future__ import annotations

import itertools
import re

import pytest

from kernelet.contracts.structured import EMPTY, Chars, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet.testing.grammar_engine.recognizer import is_prefix, recognizes

A, B, ROOT = Text("a"), Text("b"), Rule("root")

REGULAR = [
    (Text("ab"), "ab"),
    (EMPTY, ""),
    (Chars(((97, 97),)), "a"),
    (Repeat(Union((A, Text("ab"))), 1, 3), "(a|ab){1,3}"),
    (Repeat(Repeat(A, 0, 2), 2, 3), "(a{0,2}){2,3}"),
    (Repeat(Concat((Repeat(A, 0, None), Repeat(B, 0, 1))), 2, None), "(a*b?){2,}"),
    (Repeat(Repeat(Union((A, EMPTY)), 3, 3), 1, None), "((a|){3})+"),
    (Concat((Repeat(A, 2, 2), Repeat(Text("ba"), 0, None), Repeat(B, 1, None))), "a{2}(ba)*b+"),
    (Union((Concat((ROOT, A)), B, EMPTY)), "b?a*"),
    (Union((Concat((A, ROOT)), B, EMPTY)), "a*b?"),
]


def texts(alphabet, longest):
    for length in range(longest + 1):
        yield from map("".join, itertools.product(alphabet, repeat=length))


@pytest.mark.parametrize("expression, pattern", REGULAR)
def test_regular_languages(expression, pattern):
    rules = GrammarRules({"root": expression})
    whole = {text for text in texts("ab", 7) if re.fullmatch(pattern, text)}
    assert {text for text in texts("ab", 7) if recognizes(rules, text)} == whole
    begun = {text[:end] for text in whole for end in range(len(text) + 1)}
    assert {text for text in texts("ab", 5) if is_prefix(rules, text)} == {text for text in begun if len(text) <= 5}


@pytest.mark.parametrize(
    "expression",
    [
        Union((EMPTY, Concat((Text("("), ROOT, Text(")"), ROOT)))),
        Union((EMPTY, Concat((ROOT, Text("("), ROOT, Text(")"))))),
        Repeat(Concat((Text("("), ROOT, Text(")"))), 0, None),
    ],
)
def test_brackets(expression):
    rules = GrammarRules({"root": expression})
    for text in texts("()", 8):
        depths = list(itertools.accumulate(1 if bracket == "(" else -1 for bracket in text))
        assert is_prefix(rules, text) == (min(depths, default=0) >= 0)
        assert recognizes(rules, text) == (min(depths, default=0) >= 0 and [*depths, 0][len(depths) - 1] == 0)


def test_rules_that_call_each_other():
    """a+b with as many b as a, and their nullable detour."""
    rules = GrammarRules(
        {
            "root": Rule("pair"),
            "pair": Concat((Rule("nothing"), A, Union((Rule("pair"), Rule("nothing"))), B, Rule("nothing"))),
            "nothing": Repeat(Union((EMPTY, Rule("other"))), 0, 3),
            "other": EMPTY,
        }
    )
    for text in texts("ab", 8):
        assert recognizes(rules, text) == (bool(text) and text == "a" * (len(text) // 2) + "b" * (len(text) // 2))


def test_characters():
    rules = GrammarRules({"root": Repeat(Chars(((0x20, 0x21), (0x20AC, 0x20AC), (0x1F600, 0x1F64F))), 1, 2)})
    assert recognizes(rules, "€\U0001f600")
    assert not recognizes(rules, "€\U0001f650")
    assert not is_prefix(rules, "€€€")
