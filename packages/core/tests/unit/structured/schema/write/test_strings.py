from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from written import agree, graph_of, language, language_of_graph

from kernelet.structured.automata.parse import parse_pattern
from kernelet.structured.automata.syntax import EVERYTHING, complement, literal, union
from kernelet.structured.refusal import UnenforcedError
from kernelet.structured.rules import count_expressions, is_recursive
from kernelet.structured.schema.shapes import StringShape
from kernelet.structured.schema.write.strings import in_language, name_in, other_than

WORDS = st.text('ab\u00e9\U0001f600"\\\n', max_size=5)
PATTERNS = st.sampled_from(["^a", "b$", "^[ab]*$", "\u00e9", '["\\\\]', "^.{2}$", "\U0001f600+"]).map(parse_pattern)


@st.composite
def shapes(draw):
    low = draw(st.integers(0, 3))
    return StringShape(
        min_length=low,
        max_length=draw(st.none() | st.integers(low, 5)),
        patterns=tuple(draw(st.lists(PATTERNS, max_size=2))),
        not_patterns=tuple(draw(st.lists(PATTERNS, max_size=1))),
        excluded=draw(st.frozensets(WORDS, max_size=3)),
    )


@given(shapes(), st.lists(WORDS, min_size=1, max_size=12), st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_strings_are_those_of_the_shape(shape, words, seed):
    agree(graph_of(shape), [*words, *shape.excluded], Random(seed))


@given(st.frozensets(WORDS, max_size=5), st.lists(WORDS, min_size=1, max_size=10), st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_all_but_some(excluded, words, seed):
    agree(graph_of(StringShape(excluded=excluded)), [*words, *excluded], Random(seed))


@given(st.frozensets(WORDS, min_size=1, max_size=5), st.lists(WORDS, min_size=1, max_size=5), st.integers(0, 2**32))
@settings(max_examples=20)
def test_constants(values, words, seed):
    agree(graph_of(StringShape(values=values)), [*words, *values], Random(seed))


def test_lengths_count_characters_however_they_are_written():
    written = language_of_graph(graph_of(StringShape(min_length=2, max_length=2)))
    assert all(text in written for text in ('"ab"', '"\\n\\u0041"', '"\U0001f600\\ud83d\\ude00"'))
    assert not any(text in written for text in ('"a"', '"abc"', '"\\ud83d\\ude00"'))


def test_formats_and_patterns_hold_at_once():
    written = language_of_graph(graph_of(StringShape(formats=("date",), patterns=(parse_pattern("^20"),))))
    assert '"2024-02-29"' in written
    assert '"1999-01-01"' not in written
    assert '"2023-02-29"' not in written


def test_names_of_a_class():
    def write(scribe):
        return name_in(parse_pattern("^x-"), scribe)

    assert '"x-1"' in language(write)
    assert '"y"' not in language(write)


@pytest.mark.parametrize("names", [(), ("",), ("a",), ("a", "ab", "b"), ("a" * 40, "a" * 39)])
def test_names_beside_others(names):
    keys = complement(union(*map(literal, names))) if names else EVERYTHING
    written = language(lambda scribe: name_in(keys, scribe))
    for name in (*names, *(name[:-1] for name in names), *(f"{name}x" for name in names), "\u00e9"):
        assert (f'"{name}"' in written) == (name not in names)
    assert '"\\u0061"' not in written or not names  # a name of ASCII cannot be hidden behind escapes
    assert all(re.fullmatch('".*"', text, re.DOTALL) for text in written.samples(Random(0), 20))


def test_names_beside_many_others_stay_small_and_regular():
    names = [f"property_number_{number}" for number in range(30)]
    written = language(lambda scribe: other_than(names, scribe))
    assert count_expressions(written.rules) < 700
    assert not is_recursive(written.rules)


def test_too_many_conditions_are_refused_with_their_place():
    graph = graph_of(StringShape(patterns=(parse_pattern("^(a|b)*a(a|b){30}$"), parse_pattern("^(a|b)*b(a|b){29}$"))))
    graph.paths[0] = "/properties/a"
    with pytest.raises(UnenforcedError) as caught:
        language_of_graph(graph)
    assert caught.value.refusals[0].path == "/properties/a"


def test_a_language_is_written_between_quotes():
    assert '"ab"' in language(lambda scribe: in_language(literal("ab"), scribe))
