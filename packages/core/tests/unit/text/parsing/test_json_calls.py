from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.parsing import CONTENT, WHITESPACE, ArgumentsState, Exit, JsonCallsState, NameState, ParserTable
from kernelet.testing.parsing.feed import Feed, spans_of
from kernelet.testing.parsing.sample import Parsed
from kernelet.text.parsing.json_calls import decoded


def calls(*tokens, **options):
    state = JsonCallsState(to=CONTENT, **options)
    exits = (Exit("<c>", "calls", opens=True), Exit("</c>", CONTENT, closes=True))
    return Feed(ParserTable(states={"calls": state}, content_exits=exits), tokens=tokens)


def parsed(feed, text, **options):
    whole = feed.parse(text, **options)
    assert feed.slowly(text, **options) == whole
    return whole


ONE = '{"name": "f", "arguments": {"a": 1}}'


@pytest.mark.parametrize(
    "options, text, content, found",
    [
        ({}, ONE, "", [("f", '{"a": 1}')]),
        ({}, ONE + "x", "x", [("f", '{"a": 1}')]),
        ({}, '{"arguments":{"a" :1} , "name":"f"}', "", [("f", '{"a" :1}')]),
        ({}, '{"id": "x", "name":"\\u0066", "parameters": [1]}', "", [("f", "[1]")]),
        ({}, '{"name": "f"}', "", [("f", "{}")]),
        ({}, '{"name": "f", "arguments": "{\\"a\\": 1}", "type": 1}', "", [("f", '"{\\"a\\": 1}"')]),
        ({}, '{"name": "f", "name": "g", "arguments": {}}', "", [("f", "{}")]),
        ({}, '{"name": "f", "arguments": {}, "arguments": {"b": 1}, "parameters": 1}', "", [("f", "{}")]),
        ({"declared": frozenset("f")}, '{"name": "f", "age": 3}', "", [("f", "{}")]),
        ({"declared": frozenset("f")}, '{"name": "g", "age": 3}', '<c>{"name": "g", "age": 3}', []),
        ({"declared": frozenset("f")}, '{"name": "g", "name": "h", "arguments": [3]}', "", [("g", "[3]")]),
        ({"declared": frozenset("f")}, '{"arguments": [3], "name": "g"}', "", [("g", "[3]")]),
        ({"declared": frozenset(), "many": True}, f'[{ONE}, {{"name": "g"}}]', '{"name": "g"}]', [("f", '{"a": 1}')]),
        ({}, '{"name": "f" "arguments": {}}', '"arguments": {}}', [("f", "")]),
        ({}, '{"name": 1}', '<c>{"name": 1}', []),
        ({}, '{"name": "\\ud800"}', '<c>{"name": "\\ud800"}', []),
        ({}, '{"city": "f"}', '<c>{"city": "f"}', []),
        ({}, '{"arguments": {}}', '<c>{"arguments": {}}', []),
        ({}, "{}", "<c>{}", []),
        ({}, "x {}", "<c>x {}", []),
        ({}, "[" + ONE + "]", "<c>[" + ONE + "]", []),
        ({"many": True}, ONE, "", [("f", '{"a": 1}')]),
        ({"many": True}, f"[{ONE} , {ONE}] y", " y", [("f", '{"a": 1}')] * 2),
        ({"many": True}, f"[{ONE}, nothing]", "nothing]", [("f", '{"a": 1}')]),
        ({"many": True}, f'[{ONE}, {{"city": 1}}]', '{"city": 1}]', [("f", '{"a": 1}')]),
        ({"many": True}, "[]", "<c>[]", []),
        ({"separators": ";"}, f"{ONE}; {ONE} z", "z", [("f", '{"a": 1}')] * 2),
        ({"inside": ("function",)}, '{"id": "x", "function": ' + ONE + "}", "", [("f", '{"a": 1}')]),
        ({"names": ("tool", "fn"), "arguments": ("args",)}, '{"fn": "f", "args": {}}', "", [("f", "{}")]),
    ],
)
def test_calls(options, text, content, found):
    assert parsed(calls(**options), "<c>" + text) == Parsed("", content, tuple(found))


@pytest.mark.parametrize("end", range(len(ONE)))
def test_ends(end):
    """The end of the text in every state: a call once its name is known, content before."""
    begun = end > ONE.index('"f"') + 2
    text = "<c>" + ONE[:end]
    for cut in (False, True):
        found = parsed(calls(), text, cut=cut)
        assert found.content == ("" if begun else text)
        assert [name for name, _ in found.calls] == ["f"] * begun
        if begun:
            arguments = ONE[ONE.index("{", 1) : end][: len('{"a": 1}')]
            assert found.calls[0][1] == arguments


VALUES = st.recursive(
    st.none() | st.integers() | st.text('a"\\{}[],<c>/', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
)


ARGUMENTS = st.lists(st.dictionaries(st.text("ab", max_size=2), VALUES, max_size=3), min_size=1, max_size=3)


@settings(max_examples=50)
@given(ARGUMENTS, st.sampled_from([None, 2]))
def test_against_pythons_json(arguments, indent):
    texts = [json.dumps(one, indent=indent) for one in arguments]
    text = "<c>[" + ", ".join(f'{{"name": "f", "arguments": {one}}}' for one in texts) + "]</c>"
    for feed in (calls(many=True), calls("<c>", "</c>", many=True)):
        assert parsed(feed, text) == Parsed("", "", tuple(("f", one) for one in texts))


def test_marks_that_are_tokens():
    feed = calls("<c>", "</c>")
    assert parsed(feed, '<c>{"name": "f", "arguments": {"</c>": "<c>"}</c>x') == Parsed(
        "", "x", (("f", '{"</c>": "<c>"}'),)
    )
    assert parsed(feed, '<c>{"name"</c>x') == Parsed("", '<c>{"name"</c>x', ())


def arguments():
    states = {"name": NameState(exits=(Exit(":", "arguments"),)), "arguments": ArgumentsState(to=CONTENT)}
    exits = (Exit("<c>", "name", opens=True), Exit("</c>", CONTENT, closes=True))
    return Feed(ParserTable(states=states, content_exits=exits), tokens=("<c>",))


@pytest.mark.parametrize(
    "text, content, found",
    [
        ('f: {"a": "<c>}"} x', " x", '{"a": "<c>}"}'),
        ("f:[1]", "", "[1]"),
        ("f: 5", "", "5"),
        ("f:\nnot {json} </c>x", "x", "not {json} "),
        ("f:" + WHITESPACE, "", ""),
        ("f:</c>x", "x", "{}"),
        ("f:\n<c>", "<c>", "{}"),
        ('f:{"a', "", '{"a'),
    ],
)
def test_arguments(text, content, found):
    assert parsed(arguments(), "<c>" + text) == Parsed("", content, (("f", found),))


def test_long_and_deep_arguments_are_looked_at_once():
    for body in ('{"a": "' + "x" * 300_000 + '"}', "[" * 50_000 + "]" * 50_000, '{"a": [' + "1," * 50_000 + "1]}"):
        text = '<c>{"name": "f", "arguments": ' + body + "}</c>"
        parser = calls().parser()
        parser.push(spans_of(text, places=range(0, len(text), 50)))
        assert parser.finish().tool_calls[0].arguments == body
        assert parser.looked == len(text)


@pytest.mark.parametrize(
    "text, value", [('"a\\n"', "a\n"), ('"a\n"', "a\n"), ("1", ""), ('"', ""), ('"\\ud800"', ""), ("", "")]
)
def test_decoded(text, value):
    assert decoded(text) == value
