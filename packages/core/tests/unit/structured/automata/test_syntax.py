from __future__ import annotations

import pytest
from hypothesis import given
from random_regexes import languages

from kernelet.structured.automata.budget import MAX_DEPTH, MAX_SIZE, TooLargeError
from kernelet.structured.automata.syntax import (
    ANY,
    EPSILON,
    EVERYTHING,
    NOTHING,
    Concat,
    Repeat,
    both,
    chars,
    complement,
    concat,
    literal,
    repeat,
    union,
)

A, B, AB = literal("a"), literal("b"), literal("ab")


@given(languages())
def test_what_is_known_of_a_language_is_true(language):
    facts = language.regex.facts
    lengths = sorted(map(len, language.texts))
    assert facts.nullable == ("" in language.texts)
    assert all(facts.shortest <= length for length in lengths)
    assert facts.longest is None or all(length <= facts.longest for length in lengths)
    if facts.plain and language.regex != NOTHING and facts.shortest <= 4:
        assert facts.shortest == lengths[0]
        assert facts.longest is None or facts.longest > 4 or facts.longest == lengths[-1]


@pytest.mark.parametrize(
    "made, same",
    [
        (concat(A, concat(B, EPSILON)), AB),
        (concat(A, NOTHING), NOTHING),
        (concat(A, repeat(A, 0, None)), repeat(A, 1, None)),
        (concat(A, A, repeat(A, 0, 2), repeat(A, 1, None)), repeat(A, 3, None)),
        (concat(), EPSILON),
        (union(A, B, A), chars([(0x61, 0x62)])),
        (union(A, NOTHING), A),
        (union(), NOTHING),
        (union(EPSILON, AB), repeat(AB, 0, 1)),
        (union(EPSILON, repeat(AB, 0, 2)), repeat(AB, 0, 2)),
        (union(A, EVERYTHING), EVERYTHING),
        (union(repeat(A, 1, 3), A, repeat(A, 4, 5)), repeat(A, 1, 5)),
        (union(repeat(A, 1, 3), repeat(A, 2, None)), repeat(A, 1, None)),
        (repeat(repeat(A, 0, None), 0, None), repeat(A, 0, None)),
        (repeat(repeat(A, 1, 100), 1, 100), repeat(A, 1, 10_000)),
        (repeat(repeat(AB, 2, 3), 4, 4), repeat(AB, 8, 12)),
        (repeat(repeat(A, 0, 1), 3, 5), repeat(A, 0, 5)),
        (repeat(A, 1, 1), A),
        (repeat(A, 0, 0), EPSILON),
        (repeat(NOTHING, 0, 3), EPSILON),
        (repeat(NOTHING, 1, 3), NOTHING),
        (complement(complement(AB)), AB),
        (complement(NOTHING), EVERYTHING),
        (complement(EVERYTHING), NOTHING),
        (complement(EPSILON), repeat(ANY, 1, None)),
        (complement(repeat(ANY, 2, 3)), union(repeat(ANY, 0, 1), repeat(ANY, 4, None))),
        (complement(ANY), union(EPSILON, repeat(ANY, 2, None))),
    ],
)
def test_expressions_are_simplified(made, same):
    assert made == same
    assert hash(made) == hash(same)


def test_counts_with_gaps_stay_apart():
    pairs = repeat(repeat(A, 2, 2), 2, 3)
    assert isinstance(pairs, Repeat) and isinstance(pairs.part, Repeat)
    assert isinstance(repeat(repeat(A, 2, None), 0, None).part, Repeat)


def test_what_is_written_out_stays_so():
    assert isinstance(literal("aab"), Concat) and len(literal("aab").parts) == 3


def test_surrogates_are_no_characters():
    assert chars([(0xD800, 0xDFFF)]) == NOTHING == literal("\ud800")


def test_depth_is_bounded():
    def nested(levels):
        regex = A
        for _ in range(levels):
            regex = concat(repeat(regex, 0, None), B)
        return regex

    assert nested(MAX_DEPTH // 2 - 1).facts.depth < MAX_DEPTH
    with pytest.raises(TooLargeError, match="nested"):
        nested(MAX_DEPTH // 2)


def test_size_is_bounded():
    def doubled(times):
        regex = union(AB, repeat(AB, 3, 4))
        for _ in range(times):
            regex = concat(regex, B, regex)
        return regex

    assert doubled(10).facts.size < MAX_SIZE
    with pytest.raises(TooLargeError, match="parts"):
        doubled(40)


def test_all_of_none_is_everything():
    assert both() == EVERYTHING
