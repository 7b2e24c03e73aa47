from __future__ import annotations

import pytest

from kernelet.contracts.parsing import (
    CONTENT,
    REASONING,
    WHITESPACE,
    CallName,
    Exit,
    HeaderState,
    NameState,
    ParameterNameState,
    ParameterValueState,
    ParserTable,
    TextState,
    Turn,
)
from kernelet.testing.parsing.feed import Feed
from kernelet.testing.parsing.sample import Parsed

OPEN = Exit("<c>", "a", opens=True)


def parsed(state, text, *exits, states=None, tokens=(), **options):
    """Text behind ``<c>`` is in the state; every cut is one message."""
    table = ParserTable(states={"a": state, **(states or {})}, content_exits=exits or (OPEN,))
    feed = Feed(table, tokens=tokens, tools=[{"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}}}])
    whole = feed.parse(text, **options)
    assert feed.slowly(text, **options) == whole
    for place in range(len(text)):
        assert feed.parse(text, [place], **options) == whole
    return whole


def content(text):
    return Parsed("", text, ())


# --- text ------------------------------------------------------------------------------------------


def test_text_and_what_is_skipped():
    thinks = TextState(into=REASONING, skip="\n", exits=(Exit("</t>", CONTENT, before=" \n", after="\n "),))
    exits = (Exit("<t>", "a"), Exit("</t>", CONTENT, after="\n"))
    assert parsed(thinks, "a<t>\n\n b \n</t> \n\nc", *exits) == Parsed(" b", "ac", ())
    assert parsed(thinks, "<t>\n\n</t>", *exits) == Parsed("", "", ())
    assert parsed(thinks, "a</t>\nb</t>", *exits) == content("ab")
    assert parsed(thinks, "<t>b </t", *exits) == Parsed("b </t", "", ())
    assert parsed(thinks, "<t>b</t>\n", *exits, tokens=("<t>", "</t>")) == Parsed("b", "", ())


def test_dropped_text():
    state = TextState(into="", exits=(Exit("</c>", CONTENT),))
    assert parsed(state, "a<c>b</c>c", Exit("<c>", "a")) == content("ac")
    assert parsed(state, "a<c>b</c>c") == content("a<c>b</c>c")
    assert parsed(state, "a<c>b") == content("a<c>b")


def test_text_that_never_was_a_call_is_content_even_if_a_call_follows():
    state = TextState(into="", exits=(Exit("</c>", CONTENT), Exit("f:", "name")))
    name = NameState(exits=(Exit(";", CONTENT, closes=True),))
    found = parsed(state, "<c>no</c><c> f:g;x", Exit("<c>", "a", opens=True, after="\n"), states={"name": name})
    assert found == Parsed("", "<c>no</c>x", (("g", "{}"),))


def test_what_follows_a_marker_is_content_too_if_no_call_comes():
    assert parsed(TextState(into="", exits=()), "<c> \n x", Exit("<c>", "a", opens=True, after=WHITESPACE)) == content(
        "<c> \n x"
    )


# --- names -----------------------------------------------------------------------------------------


def test_names():
    state = NameState(exits=(Exit(";", CONTENT, closes=True),), limit=5)
    assert parsed(state, "a<c> f\n;b") == Parsed("", "ab", (("f", "{}"),))
    assert parsed(state, "a<c> ;b") == content("a<c> ;b")
    assert parsed(state, "a<c>f") == content("a<c>f")
    assert parsed(state, "a<c>12345;b") == content("a<c>12345;b")
    assert parsed(state, "a<c>123456789") == content("a<c>123456789")
    assert parsed(state, "a<c>1234;b") == Parsed("", "ab", (("1234", "{}"),))


def test_names_that_keep_their_marker():
    state = NameState(exits=(Exit("{", CONTENT, keeps=True, closes=True),), read=lambda text: CallName(text.strip("!")))
    assert parsed(state, "<c>f{x") == Parsed("", "{x", (("f", "{}"),))
    assert parsed(state, "<c>!{x") == content("<c>!{x")


def test_a_token_within_a_name_is_text():
    state = NameState(exits=(Exit(";", CONTENT, closes=True),))
    assert parsed(state, "<c>f<c>;x", tokens=("<c>",)) == Parsed("", "x", (("f<c>", "{}"),))


# --- headers ---------------------------------------------------------------------------------------


def read(text):
    return Turn("a", CallName(text[1:], "id")) if text.startswith("!") else Turn(REASONING if text == "t" else CONTENT)


def header(text, **options):
    states = {
        REASONING: TextState(into=REASONING, exits=(Exit("<h>", "h"),)),
        "h": HeaderState(exits=(Exit(":", "h"),), read=read, limit=6),
    }
    state = TextState(into="", exits=(Exit(".", CONTENT, closes=True),))
    return parsed(state, text, Exit("<h>", "h", **options), states=states)


def test_headers():
    assert header("a<h>t:b<h>!f:c.d") == Parsed("b", "ad", (("f", "{}"),))
    assert header("<h>x:b<h>") == content("b")
    assert header("<h>x:b<h>never") == content("b")
    assert header("<h>x:b<h>too long:") == content("btoo long:")
    assert header("<h>x:b<h>nev", opens=True) == content("<h>x:b<h>nev")
    assert header("<h>!f:b", opens=True) == Parsed("", "", (("f", ""),))


# --- parameters ------------------------------------------------------------------------------------

END = Exit(("</p>", "</c>"), CONTENT, closes=True)
NEXT = Exit(("</p>", "<p"), "key")


def call(text, *, limit=256, skip="\n", trim="\n", **options):
    states = {
        "begun": TextState(into="", exits=(Exit("<p", "key"), Exit("</c>", CONTENT, closes=True))),
        "key": ParameterNameState(exits=(Exit(">", "value"),), limit=limit),
        "value": ParameterValueState(skip=skip, trim=trim, exits=(NEXT, END, Exit("</c>", CONTENT, closes=True))),
    }
    return parsed(NameState(exits=(Exit(";", "begun"),)), f"<c>f;{text}", states=states, **options)


@pytest.mark.parametrize(
    "text, arguments",
    [
        ("<pn>5</p></c>", '{"n": 5}'),
        ("<pn> 5\n</p>\n<p b >x</p></c>", '{"n": 5, "b": "x"}'),
        ("<ps>\n\na\n\n</p></c>", '{"s": "\\na\\n"}'),
        ("<ps>\n</p></c>", '{"s": ""}'),
        ("<ps></p></c>", '{"s": ""}'),
        ("<ps>a</p>b</p></c>", '{"s": "a</p>b"}'),
        ("<ps>a</c>", '{"s": "a"}'),
        ("<ps>a\n", '{"s": "a\\n'),
        ("<pn>5</p", '{"n": '),
        ("<pn>5", '{"n": '),
        ("<p", ""),
        ("</c>", "{}"),
        ("", ""),
    ],
)
def test_parameters(text, arguments):
    assert call(text) == Parsed("", "", (("f", arguments),))


def test_parameters_that_are_cut():
    """Nothing says that a value was whole."""
    assert call("<ps>a\n</p", cut=True).calls == (("f", '{"s": "a\\n</p'),)
    assert call("<pn>5", cut=True).calls == (("f", '{"n": '),)
    assert call("<pn>5</p><ps", cut=True).calls == (("f", '{"n": 5'),)
    assert call("<pn>5</p><ps>", cut=True).calls == (("f", '{"n": 5, "s": "'),)


def test_a_name_that_is_too_long_is_content():
    assert call("<p12345678</c>", limit=5) == Parsed("", "12345678</c>", (("f", "{}"),))
