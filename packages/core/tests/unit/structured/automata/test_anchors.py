from __future__ import annotations

import itertools
import re

import pytest

from kernelet.structured.automata.anchors import END, START, Anchored, choice, sequence, times
from kernelet.structured.automata.parse import parse_pattern
from kernelet.structured.automata.questions import Matcher
from kernelet.structured.automata.syntax import EPSILON, EVERYTHING, NOTHING, concat, literal, repeat

WORDS = ["".join(word) for length in range(5) for word in itertools.product("ab", repeat=length)]
PIECES = ["^", "$", "a", "b?", "(^a|b)", "(a$|b)", "(^)", "($|b*)", "(a|^b$)", "(^a)*", "(b$|a)+", "(^|a){2}"]


@pytest.mark.parametrize("first", PIECES)
def test_anchors_hold_wherever_they_stand(first):
    for second in PIECES:
        two = first + second
        for pattern in (two, f"a{two}", f"{two}b", f"({two}|ab)*b"):
            python = re.compile(pattern.replace("$", r"\Z"))
            matches = Matcher(parse_pattern(pattern))
            assert [word for word in WORDS if matches(word)] == [word for word in WORDS if python.search(word)], pattern


def free(text):
    return Anchored(free=literal(text))


def test_what_is_matched_as_a_whole_needs_no_surroundings():
    anchored = sequence([START, free("a"), END])
    assert anchored == Anchored(whole=literal("a"))
    assert anchored.matched() == anchored.searched() == literal("a")
    assert free("a").searched() == concat(EVERYTHING, literal("a"), EVERYTHING)
    assert sequence([]).matched() == EPSILON
    assert sequence([free("a"), START]).matched() == NOTHING


def test_repeats_beside_any_text_are_as_short_as_can_be():
    assert parse_pattern("a+") == parse_pattern("a")
    assert parse_pattern("b*a{2,5}c?") == concat(EVERYTHING, repeat(literal("a"), 2, 2), EVERYTHING)
    assert parse_pattern("^xa*") == parse_pattern("^x")
    assert parse_pattern("a*") == parse_pattern("") == EVERYTHING


def test_anchors_are_not_copied_without_end():
    assert times(choice([START, free("a")]), 8, None) is not None
    assert times(choice([START, free("a")]), 9, None) is None
    assert times(START, 0, 0) == Anchored(free=EPSILON)
