from __future__ import annotations

import pytest
from hypothesis import given
from random_regexes import WORDS, languages

from kernelet.structured.automata.budget import Budget, TooLargeError
from kernelet.structured.automata.dfa import determinize
from kernelet.structured.automata.eliminate import regex_of
from kernelet.structured.automata.parse import parse_pattern, parse_regex
from kernelet.structured.automata.questions import Matcher, are_disjoint, is_subset
from kernelet.structured.automata.syntax import ANY, NOTHING, both, chars, complement, literal, repeat, union

NAMES = ["name", "age", "address", "zip", "city", "country", "email", "phone", "id", "type"]


def eliminated(regex):
    return regex_of(determinize(regex, Budget()), None)


@given(languages())
def test_the_expression_has_the_language(language):
    regex = eliminated(language.regex)
    assert regex.facts.plain
    matches = Matcher(regex)
    assert {word for word in WORDS if matches(word)} == language.texts


def test_counts_are_found_again():
    assert eliminated(parse_regex("a{2,90}")) == parse_regex("a{2,90}")
    assert eliminated(both(parse_regex("[a-z]*"), complement(parse_regex(".{0,5}")))) == repeat(
        chars([(0x61, 0x7A)]), 6, None
    )
    assert eliminated(NOTHING) == NOTHING


def test_names_that_are_left_out_make_a_small_expression():
    names = union(*map(literal, NAMES))
    regex = eliminated(complement(names))
    assert regex.facts.size < 350
    assert are_disjoint(regex, names)
    assert is_subset(complement(names), regex)


def test_conditions_that_are_joined_make_a_small_expression():
    assert eliminated(both(parse_pattern("a"), parse_pattern("b"))).facts.size < 30
    assert eliminated(both(parse_pattern("^[a-z]+(-[a-z]+)*$"), repeat(ANY, 3, None))).facts.size < 60


def test_what_gets_long_is_refused_without_names():
    with pytest.raises(TooLargeError, match="sensible size"):
        eliminated(both(*map(parse_pattern, "abcdefghi")))
