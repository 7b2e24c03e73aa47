from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from written import language

from kernelet.structured.automata.alphabet import ALL, contains, invert, normalize
from kernelet.structured.schema.write.text import quoted

TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
CODES = st.one_of(
    st.integers(0, 0x30), st.integers(0x70, 0x900), st.integers(0xD700, 0xE100), st.integers(0xFFF0, 0x10FFFF)
)
CLASSES = st.lists(st.tuples(CODES, st.integers(0, 0x3000)), min_size=1, max_size=3).map(
    lambda pairs: normalize((first, min(first + more, 0x10FFFF)) for first, more in pairs)
)


def forms(text):
    """A text as serializers write it."""
    escaped = json.dumps(text)
    return {escaped, json.dumps(text, ensure_ascii=False)}


@given(TEXTS, st.integers(0, 2**32))
@settings(max_examples=40)
def test_a_text_is_written_as_serializers_do(text, seed):
    written = language(lambda scribe: quoted(text))
    assert all(form in written for form in forms(text))
    assert {json.loads(sample) for sample in written.samples(Random(seed), 5)} == {text}


@pytest.mark.parametrize("text", ['"\\u00E9"', '"\\u00e9"', '"é"'])
def test_numbers_of_characters_in_letters_of_either_case(text):
    assert text in language(lambda scribe: quoted("é"))


def test_lone_surrogates_are_escaped():
    written = language(lambda scribe: quoted("\ud800a"))
    assert '"\\ud800a"' in written
    assert '"\ud800a"' not in written


@given(TEXTS, st.integers(0, 2**32))
@settings(max_examples=20)
def test_free_text_takes_every_escape(text, seed):
    written = language(lambda scribe: scribe.characters.rest)
    random = Random(seed)
    units = text.encode("utf-16-be")
    numbers = "".join(f"\\u{units[at]:02x}{units[at + 1]:02X}" for at in range(0, len(units), 2))
    assert json.dumps(text)[1:-1] in written
    assert json.dumps(text, ensure_ascii=False)[1:-1] in written
    assert numbers in written
    for sample in written.samples(random, 5):
        json.loads(f'"{sample}"').encode()  # no lone surrogate


@pytest.mark.parametrize("text", ['"', "\\", "\n", "\\x", "\\ud800", "\\udc00", "\\ud800\\u0041", "\\u12"])
def test_what_is_no_text(text):
    assert text not in language(lambda scribe: scribe.characters.rest)


@given(CLASSES.filter(bool), st.lists(CODES, min_size=1, max_size=8), st.integers(0, 2**32))
@settings(max_examples=20)
def test_a_class_holds_its_characters_alone(ranges, codes, seed):
    written = language(lambda scribe: scribe.characters.of(ranges))
    for sample in written.samples(Random(seed), 10):
        assert contains(ranges, ord(json.loads(f'"{sample}"')))
    codes = [code for code in codes if contains(ALL, code)]
    edges = [edge for first, last in ranges for edge in (first, last)]
    for code in (*codes, *edges):
        for form in forms(chr(code)):
            assert (form[1:-1] in written) == contains(ranges, code)


def test_ascii_is_raw_only_in_classes():
    written = language(lambda scribe: scribe.characters.of(((97, 98),)))
    assert "a" in written
    assert "\\u0061" not in written


def test_all_but_some_characters_stay_small():
    written = language(lambda scribe: scribe.characters.of(invert(((97, 97),))))
    assert "\\ud83d\\ude00" in written
    assert "a" not in written
