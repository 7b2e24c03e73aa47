from __future__ import annotations

import ast
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kernelet.text.parsing.python_literal import PythonLiteral

STRINGS = st.text("ab'\"\\\n(),]}é=\t", max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | STRINGS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3))


def read(pieces):
    literal, place = PythonLiteral(), 0
    for piece in pieces:
        used = literal.feed(piece, 0)
        place += used
        if literal.ended:
            break
        assert used == len(piece)
    return place, literal.ended, json.loads(literal.as_json())


@given(VALUES, st.sampled_from([",", ")", " ,", "\n)"]))
def test_against_python(value, behind):
    text = repr(value)
    expected = (len(text) + len(behind) - 1, True, ast.literal_eval(text))
    assert json.dumps(read([text + behind, " x"])) == json.dumps(read(list(text + behind))) == json.dumps(expected)


@given(st.text("ab'\"\\n\n ,)rx", max_size=10), st.sampled_from(['"""', "'''", '"', "'", 'r"', "r'''"]))
def test_strings_against_python(text, quote):
    text = quote + text + quote[-3:].lstrip("r")
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):  # an escape of nothing, too: warnings are errors
        assume(False)
    assume(isinstance(value, str))
    assert read([text + ")"]) == read(list(text + ")")) == (len(text), True, value)


@pytest.mark.parametrize(
    "text, value",
    [
        ('"a\nb"', "a\nb"),
        ('"a\r\nb"', "a\r\nb"),
        (r'"\d+\.\d"', r"\d+\.\d"),
        (r'"C:\dir"', r"C:\dir"),
        (r"r'\d'", r"\d"),
        ("'''it's '' \"x\"'''", "it's '' \"x\""),
        ('""', ""),
        ("true", True),
        ("null", None),
        ("[true, null]", [True, None]),
        ("(1, 2)", [1, 2]),
        ("some_name", "some_name"),
        ("a + b", "a + b"),
        ("1e400", float("inf")),
        ("{1}", "{1}"),
        ("1]", "1]"),
        ("", ""),
    ],
)
def test_what_models_write(text, value):
    assert read([text + ")"])[1:] == read(list(text + ")"))[1:] == (True, value)


@pytest.mark.parametrize(
    "text, inside",
    [
        ("", False),
        ("1", False),
        ('"', True),
        ('""', False),
        ('"""', True),
        ('"a', True),
        ('"a\\', True),
        ('"a"', False),
    ],
)
def test_where_a_marker_is_text(text, inside):
    literal = PythonLiteral()
    literal.feed(text, 0)
    assert literal.in_string == inside


def test_deep_and_long():
    for text in ("[" * 50_000, "-" * 100_000, '"' + "x" * 100_000 + '"', "'\\" * 1000):
        literal = PythonLiteral()
        assert literal.feed(text, 0) == len(text)
        assert isinstance(json.loads(literal.as_json()), str)
