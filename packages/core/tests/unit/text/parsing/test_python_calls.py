from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.parsing import CONTENT, Exit, ParserTable, PythonCallsState
from kernelet.testing.parsing.feed import Feed
from kernelet.testing.parsing.sample import Parsed, same_calls

BARE = ParserTable(
    states={"calls": PythonCallsState(to=CONTENT, bracketed=False)},
    content_exits=(Exit("<c>", "calls", opens=True), Exit("</c>", CONTENT)),
)
BRACKETED = ParserTable(
    states={"calls": PythonCallsState(to=CONTENT)},
    content_exits=(Exit("[", "calls", at_start=True, keeps=True, opens=True),),
)


def parsed(table, text, *, tokens=(), **options):
    feed = Feed(table, tokens=tokens)
    whole = feed.parse(text, **options)
    assert feed.slowly(text, **options) == whole
    return whole


@pytest.mark.parametrize(
    "text, content, found",
    [
        ("[f(a=1)]", "", [("f", '{"a": 1}')]),
        ("\n[ f ( a=1)]", "\n[ f ( a=1)]", []),
        ("[f(a=1, b='x',), g.h-2()] tail", " tail", [("f", '{"a": 1, "b": "x"}'), ("g.h-2", "{}")]),
        ("[f(a = [1, {'k': (2, None)}])]", "", [("f", '{"a": [1, {"k": [2, null]}]}')]),
        ("[f()\ng()]", "", [("f", "{}"), ("g", "{}")]),
        ("[f(größe=1)]", "", [("f", '{"größe": 1}')]),
        ("[f(a='\\ud83d\\ude42')]", "", [("f", '{"a": "\\ud83d\\ude42"}')]),
        ("[1, 2] is a list", "[1, 2] is a list", []),
        ("[]", "[]", []),
        ("[f]", "[f]", []),
        ("[" + "f" * 300 + "()]", "[" + "f" * 300 + "()]", []),
        ("so [f()]", "so [f()]", []),
        ("[f(1)]", "[f(1)]", []),
        ("[f(a)] b", "[f(a)] b", []),
        ("[f(a=1), see( above)]", ", see( above)]", [("f", '{"a": 1}')]),
        ("[f(a=1), 1]", ", 1]", [("f", '{"a": 1}')]),
        ("[f(a=1, 2)]", "2)]", [("f", '{"a": 1')]),
        ("[f(), and more", ", and more", [("f", "{}")]),
        ("[f(" + "a" * 300 + "=1)]", "[f(" + "a" * 300 + "=1)]", []),
    ],
)
def test_bracketed(text, content, found):
    assert parsed(BRACKETED, text) == Parsed("", content, tuple(found))


def test_bare_calls_between_marks():
    assert parsed(BARE, 'a<c>f(x="</c>")\ng()</c>b', tokens=("<c>", "</c>")) == Parsed(
        "", "ab", (("f", '{"x": "</c>"}'), ("g", "{}"))
    )
    assert parsed(BARE, "<c>f(x=1</c>b", tokens=("<c>", "</c>")) == Parsed("", "b", (("f", ""),))
    assert parsed(BARE, "a<c>none of them</c>b") == Parsed("", "a<c>none of them</c>b", ())


def test_a_first_call_without_arguments_must_be_declared():
    table = replace(BRACKETED, states={"calls": PythonCallsState(to=CONTENT, declared=frozenset("f"))})
    assert parsed(table, "[g()](x)") == Parsed("", "[g()](x)", ())
    assert parsed(table, "[f(), g()]") == Parsed("", "", (("f", "{}"), ("g", "{}")))
    assert parsed(table, "[g(a=1)]") == Parsed("", "", (("g", '{"a": 1}'),))


def test_ends():
    text = "[f(a=1, b='x'), g()]"
    for end in range(len(text)):
        found = parsed(BRACKETED, text[:end])
        names = [name for name, _ in found.calls]
        assert names == ["f"] * (end > 4) + ["g"] * (end > 18)
        assert (found.content == text[:end]) == (not names)
        if end > 13:
            assert found.calls[0][1] == '{"a": 1, "b": "x"}'


STRINGS = st.text("ab'\"\\\n(),]}é= ", max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | STRINGS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3))
ARGUMENTS = st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]*", fullmatch=True), VALUES, max_size=3)


@settings(max_examples=50)
@given(st.lists(ARGUMENTS, min_size=1, max_size=3), st.sampled_from([repr, json.dumps]))
def test_against_python(calls, spell):
    pieces = [f"f({', '.join(f'{name}={spell(value)}' for name, value in call.items())})" for call in calls]
    found = parsed(BRACKETED, f"[{', '.join(pieces)}]")
    assert found.content == ""
    assert same_calls(found.calls, tuple(("f", call) for call in calls))
