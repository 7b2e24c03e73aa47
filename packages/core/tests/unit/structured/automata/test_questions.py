from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_regexes import WORDS, languages

from kernelet.structured.automata.budget import TooLargeError
from kernelet.structured.automata.parse import parse_pattern, parse_regex
from kernelet.structured.automata.questions import (
    Matcher,
    are_disjoint,
    finite_texts,
    is_empty,
    is_subset,
    lengths,
    matches,
    sample,
    shortest,
)
from kernelet.structured.automata.syntax import ANY, EPSILON, NOTHING, both, complement, concat, literal, repeat, union


@given(languages())
def test_questions_about_one_language(language):
    regex, texts = language.regex, language.texts
    matched = Matcher(regex)
    assert {word for word in WORDS if matched(word)} == texts
    found = shortest(regex)
    assert is_empty(regex) == (found is None)
    if found is None:
        assert not texts and lengths(regex) == (0, 0) and finite_texts(regex, 3) == ()
        return
    least, most = lengths(regex)
    assert matched(found) and len(found) == least
    assert not texts or least <= min(map(len, texts))
    if most is not None and most <= 4:
        words = finite_texts(regex, 200)
        assert words is None or {word for word in words if set(word) <= set("abc")} == texts
        assert words is None or (list(words) == sorted(words) and all(map(matched, words)))
        assert not texts or most >= max(map(len, texts))
    assert most is not None or finite_texts(regex, 10**6) is None
    assert matched(sample(regex, Random(len(texts)), 5))


@settings(max_examples=50)
@given(languages(), languages())
def test_questions_about_two_languages(one, other):
    if one.texts & other.texts:
        assert not are_disjoint(one.regex, other.regex)
    if one.texts - other.texts:
        assert not is_subset(one.regex, other.regex)
    assert is_subset(both(one.regex, other.regex), one.regex)
    assert is_subset(one.regex, union(other.regex, one.regex))
    assert are_disjoint(one.regex, both(complement(one.regex), other.regex))


@pytest.mark.parametrize("limit, count", [(14, 14), (13, None)])
def test_a_finite_language_is_listed_up_to_its_limit(limit, count):
    for regex in (parse_regex("[ab]{1,3}"), both(parse_regex("[abc]{1,3}"), complement(parse_regex(".*c.*")))):
        words = finite_texts(regex, limit)
        assert (None if words is None else len(words)) == count


def test_large_languages_are_seen_to_be_so_at_once():
    assert finite_texts(parse_regex(".{0,5000}"), 1000) is None
    assert finite_texts(parse_regex("(a|b){1,5000}"), 1000) is None
    assert finite_texts(parse_regex("a{5000}"), 3) == ("a" * 5000,)
    assert lengths(parse_regex("((a{1,100}b?){1,100}c?){1,100}")) == (1, 1_010_100 + 0)
    assert lengths(both(parse_pattern("b"), repeat(ANY, 3, 100))) == (3, 100)


def test_matching_and_the_like_is_exact_on_what_schemas_have():
    assert matches(parse_pattern("^S_"), "S_1") and not matches(parse_pattern("^S_"), "I_1")
    assert are_disjoint(parse_pattern("^S_"), parse_pattern("^I_"))
    assert not are_disjoint(parse_pattern("a"), parse_pattern("b"))
    assert is_subset(parse_pattern("^ab"), parse_pattern("^a")) and not is_subset(
        parse_pattern("^a"), parse_pattern("^ab")
    )
    assert not matches(parse_pattern("."), "\ud800")


def test_questions_are_bounded():
    hard = parse_regex("(a|b)*a(a|b){40}"), parse_regex("(a|b)*b(a|b){40}")
    with pytest.raises(TooLargeError):
        is_empty(both(*hard))
    with pytest.raises(TooLargeError):
        shortest(repeat(literal("a"), 10**9, None))
    with pytest.raises(TooLargeError):
        finite_texts(repeat(literal("a"), 10**9, 10**9), 5)


@settings(max_examples=30)
@given(st.integers(0, 30), st.integers(0, 40))
def test_samples_are_about_as_long_as_asked(seed, size):
    text = sample(both(parse_pattern("b"), complement(parse_pattern("c"))), Random(seed), size)
    assert 1 <= len(text) <= size + 2
    assert sample(concat(EPSILON, literal("ab")), Random(seed), size) == "ab"


def test_there_is_nothing_in_nothing():
    assert shortest(NOTHING) is None and is_empty(both(literal("a"), parse_pattern("b")))
