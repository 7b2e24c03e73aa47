from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_regexes import WORDS, languages

from kernelet.structured.automata.meet import meet, narrow
from kernelet.structured.automata.parse import parse_pattern, parse_regex
from kernelet.structured.automata.questions import Matcher
from kernelet.structured.automata.syntax import (
    ANY,
    EPSILON,
    EVERYTHING,
    NOTHING,
    Both,
    chars,
    complement,
    literal,
    repeat,
    union,
)

LOWER, VOWELS = chars([(0x61, 0x7A)]), union(*map(literal, "aeiou"))


@settings(max_examples=60)
@given(languages(joined=False), st.integers(0, 4), st.sampled_from([None, 0, 1, 2, 4]))
def test_narrowing_keeps_the_texts_of_the_lengths(language, low, more):
    high = None if more is None else low + more
    narrowed = narrow(language.regex, low, high)
    if narrowed is None:
        return
    matches = Matcher(narrowed)
    kept = {text for text in language.texts if len(text) >= low and (high is None or len(text) <= high)}
    assert narrowed.facts.plain
    assert {word for word in WORDS if matches(word)} == kept


@pytest.mark.parametrize(
    "parts, same",
    [
        ([repeat(LOWER, 1, 5000), repeat(ANY, 3, 100)], repeat(LOWER, 3, 100)),
        ([repeat(LOWER, 0, None), repeat(VOWELS, 2, 3)], repeat(VOWELS, 2, 3)),
        ([repeat(LOWER, 0, 3), repeat(LOWER, 5, 6)], NOTHING),
        ([repeat(LOWER, 0, None), repeat(literal("1"), 0, None)], EPSILON),
        ([repeat(LOWER, 0, None), repeat(literal("1"), 0, None), literal("xy")], NOTHING),
        ([LOWER, VOWELS], VOWELS),
        ([parse_regex("[A-Z]{2}[0-9]{1,5000}"), repeat(ANY, 0, 10)], parse_regex("[A-Z]{2}[0-9]{1,8}")),
        ([parse_regex("(ab){1,900}"), repeat(ANY, 5, 9)], parse_regex("(ab){3,4}")),
        ([parse_regex("abc|a*"), repeat(ANY, 3, 4)], parse_regex("abc|a{3,4}")),
        ([parse_regex("x?(abc|d)?"), repeat(ANY, 0, 9)], parse_regex("x?(abc|d)?")),
        ([parse_pattern("b"), repeat(ANY, 1, None)], parse_pattern("b")),
        ([EPSILON, LOWER], NOTHING),
        ([EPSILON, complement(LOWER)], EPSILON),
        ([EVERYTHING, literal("ab"), EVERYTHING, literal("ab")], literal("ab")),
        ([complement(repeat(ANY, 0, 3)), repeat(LOWER, 0, 9)], repeat(LOWER, 4, 9)),
    ],
)
def test_lengths_and_classes_need_no_automaton(parts, same):
    assert meet(parts) == same


def test_the_rest_stays_an_intersection():
    joined = meet([meet([literal("ab"), parse_regex("a.*")]), complement(literal("x")), complement(literal("y"))])
    assert isinstance(joined, Both)
    assert joined.parts[-1] == complement(union(literal("x"), literal("y")))
