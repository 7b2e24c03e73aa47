from __future__ import annotations

import pytest

from kernelet.contracts.structured import EMPTY, Chars, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet_structured_xgrammar.measure import (
    BROAD_COST,
    TOO_MUCH,
    Measure,
    is_broad,
    leaves_first,
    rules_with_text,
)

LETTERS = Chars(((97, 122),))
DIGITS = Chars(((48, 57),))
STRING = Union((LETTERS, Text("\\n")))
RULES = GrammarRules(
    {
        "root": Union((Rule("list"), Rule("word"), Rule("empty"))),
        "list": Concat((Text("["), Rule("root"), Text("]"))),
        "word": Concat((LETTERS, Rule("digit"))),
        "digit": DIGITS,
        "empty": Repeat(Rule("empty_too"), 0, 2),
        "empty_too": EMPTY,
    }
)


@pytest.fixture
def measure() -> Measure:
    return Measure(RULES, 49152)


def test_what_is_recursive_is_no_automaton(measure):
    assert measure.is_automaton(Rule("word"))
    assert not measure.is_automaton(Rule("list"))
    assert not measure.is_automaton(Concat((Text("a"), Rule("root"))))


def test_costs_are_those_of_masks(measure):
    assert measure.cost(Text("é")) == 2
    assert measure.cost(Rule("word")) == BROAD_COST + 1
    assert measure.cost(Repeat(DIGITS, 2, 5)) == 5
    assert measure.cost(Repeat(STRING, 0, 100_000)) == TOO_MUCH


def test_characters_of_a_class_are_counted_by_the_library(measure):
    assert measure.cost(Repeat(LETTERS, 0, 1000)) == TOO_MUCH
    assert not measure.is_slow(Repeat(LETTERS, 0, 1000))


def test_long_repetitions_of_broad_items_are_slow(measure):
    assert measure.is_slow(Repeat(STRING, 0, 1000))
    assert not measure.is_slow(Repeat(STRING, 0, 10))
    assert not measure.is_slow(Repeat(STRING, 0, None))
    assert not measure.is_slow(Repeat(Concat((Text(","), STRING)), 0, 1000))
    assert measure.is_slow(Repeat(Concat((Repeat(Text(","), 0, 1), STRING)), 0, 1000))
    assert not Measure(RULES, 300).is_slow(Repeat(STRING, 0, 1000))


def test_what_is_used_often_keeps_a_rule():
    rules = GrammarRules({"root": Concat((Rule("word"),) * 1000), "word": Concat((LETTERS, Text("!")))})

    assert not Measure(rules, 49152).is_automaton(Rule("word"))
    assert Measure(rules, 1).is_automaton(Rule("word")) == (Measure(rules, 1).limit >= 1000 * (BROAD_COST + 1))


def test_rules_without_text_derive_the_empty_text_only():
    assert rules_with_text(RULES) == {"root", "list", "word", "digit"}


def test_leaves_come_first():
    found = list(leaves_first(RULES))

    assert set(found) == {"word", "digit", "empty", "empty_too"}
    assert found.index("digit") < found.index("word")


def test_broad_classes_are_those_of_words():
    assert is_broad(LETTERS)
    assert not is_broad(DIGITS)
