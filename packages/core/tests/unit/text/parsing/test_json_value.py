from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.text.parsing.json_value import JsonValue

STRINGS = st.text('ab"\\{}[],:\n é\u2028', max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | STRINGS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3))
SPELLED = st.sampled_from([{}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}])


def end_of(text, pieces):
    value, place = JsonValue(), 0
    for piece in pieces:
        used = value.feed(piece, 0)
        place += used
        if value.ended:
            break
        assert used == len(piece)
    return place, value.ended


@given(VALUES, SPELLED, st.sampled_from(["", ",", "}", "]", " x", "\n"]))
def test_against_pythons_decoder(value, spelling, behind):
    text = json.dumps(value, **spelling) + behind
    _, end = json.JSONDecoder().raw_decode(text)
    whole = isinstance(value, str | list | dict) or bool(behind)  # a number goes on until something else comes
    assert end_of(text, [text]) == end_of(text, list(text)) == (end, whole)


@pytest.mark.parametrize(
    "text, end",
    [
        ('"\\\\"x', 4),
        ('"\\""x', 4),
        ('{"a": "}"}}', 10),
        ("[[]]]", 4),
        ("NaN, 1", 3),
        ("-Infinity}", 9),
        ("tru<", 3),
        ("{]}", 2),
        (",1", 0),
    ],
)
def test_ends(text, end):
    assert end_of(text, [text]) == end_of(text, list(text)) == (end, True)


def test_a_deep_value_costs_no_stack():
    depth = 100_000
    text = "[" * depth + "]" * depth
    assert end_of(text, [text]) == (2 * depth, True)


def test_from_a_place_on():
    assert JsonValue().feed('x: {"a": 1}, y', 3) == 11
