from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given

from kernelet.testing.parsing.draw import (
    Shape,
    anything,
    cases,
    dumps,
    make_case,
    message_of,
    plain_text,
    squeezed,
)
from kernelet.testing.search import SEARCH

MARKERS = ("<call>", "</call>")
SHAPE = Shape(markers=MARKERS, content_markers=MARKERS)


@SEARCH
@given(cases(SHAPE))
def test_calls_are_of_their_functions(case):
    tools = {tool["name"]: tool["parameters"] for tool in case.tools}
    assert len(case.texts) == len(case.calls) + 1
    for name, arguments in case.calls:
        jsonschema.Draft202012Validator({**tools[name], "required": []}).validate(arguments)
        assert json.loads(dumps(arguments)) == arguments
    for text in case.texts:
        assert text.startswith("So")
        assert text == text.strip()
        assert not any(marker in text for marker in MARKERS)


def strings(value):
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(part)


def all_strings(shape):
    made = [make_case(shape, 3, 3, seed) for seed in range(200)]
    return [text for case in made for _, arguments in case.calls for text in strings(arguments)]


def test_strings_are_dense_in_trouble():
    found = all_strings(SHAPE)
    for trouble in (*MARKERS, '"', "{", "}", "\\", "\n", "雨"):
        assert sum(trouble in text for text in found) > 20
    assert sum(text == "" for text in found) > 5


def test_only_what_the_format_carries():
    found = all_strings(Shape(markers=MARKERS, carries=lambda text: "<" not in text))
    assert len(found) > 500
    assert not any("<" in text for text in found)


def test_a_text_that_may_be_another_type_says_that_it_is_none():
    """Where values come as text, a string of a schema with several types is plain words."""
    made = [make_case(Shape(typed=True), 3, 3, seed) for seed in range(200)]
    for case in made:
        tools = {tool["name"]: tool["parameters"]["properties"] for tool in case.tools}
        for name, arguments in case.calls:
            for key, value in arguments.items():
                several = not isinstance(tools[name][key].get("type"), str)
                assert not (several and isinstance(value, str)) or value in ("sun", "Zürich", "two words", "naïve café")


def test_every_kind_comes():
    made = [make_case(SHAPE, 2, 3, seed) for seed in range(100)]
    kinds = {type(value) for case in made for _, arguments in case.calls for value in arguments.values()}
    assert kinds == {str, int, float, bool, list, dict, type(None)}
    assert {case.apart for case in made} == {True, False}
    assert any(not arguments for case in made for _, arguments in case.calls)
    assert make_case(SHAPE, 2, 3, 5) == make_case(SHAPE, 2, 3, 5)


def test_messages():
    made = message_of((("f", {"a": "é"}), ("g", "{")), "c", "r")
    assert (made.content, made.reasoning) == ("c", "r")
    assert [(call.id, call.name, call.arguments) for call in made.tool_calls] == [
        ("call_0", "f", '{"a": "é"}'),
        ("call_1", "g", "{"),
    ]
    assert plain_text("x") == "x"


@pytest.mark.parametrize("texts, squeeze", [([" a\n b", "c "], "abc"), ([], ""), ([""], "")])
def test_squeezed(texts, squeeze):
    assert squeezed(texts) == squeeze


def test_anything():
    assert anything("\0")
