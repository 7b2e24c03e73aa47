from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.parsing import (
    CONTENT,
    Exit,
    NameState,
    ParameterNameState,
    ParameterValueState,
    ParserContext,
    ParserTable,
)
from kernelet.request.message import ParsedMessage, ToolCall
from kernelet.testing.parsing.feed import Feed, check_growth, markers_of, places_of, spans_of
from kernelet.testing.parsing.sample import Parsed
from kernelet.testing.tool_parser.reference import json_table, xml_table
from kernelet.testing.verdict import ConformanceError


@given(st.text("ab<>", max_size=12), st.lists(st.integers(-2, 14)), st.sampled_from([(), ("<a>",), ("<a>", "<a>b")]))
def test_spans_are_the_text(text, places, tokens):
    spans = spans_of(text, tokens, places)
    assert "".join(span.text for span in spans) == text
    assert all(span.text for span in spans)
    assert all((span.text in tokens) >= span.special for span in spans)
    assert sum(span.special for span in spans) == (text.count("<a>") if tokens else 0)


def test_tokens_are_never_cut():
    spans = spans_of("a<b>cd", ("<b>",), range(9))
    assert [(span.text, span.special) for span in spans] == [("a", False), ("<b>", True), ("c", False), ("d", False)]


@given(st.text(max_size=50), st.integers(0, 1000))
def test_places_are_in_the_text(text, seed):
    places = places_of(text, seed)
    assert places == places_of(text, seed)
    assert all(0 <= place <= len(text) for place in places)


def test_markers():
    assert markers_of(xml_table(ParserContext())) == ("<call>", "</call>", "<f:", ">", "<p:", "</f>", "</p>")


def test_feed():
    feed = Feed(json_table(ParserContext()), tokens=("<call>",))
    text = 'a<call>{"name": "f", "arguments": {}}</call>'
    assert feed.parse(text) == feed.parse(text, range(99)) == feed.slowly(text) == Parsed("", "a", (("f", "{}"),))
    assert Feed(json_table(ParserContext()), drops_calls=True).parse(text) == Parsed("", "a", ())
    with pytest.raises(ValueError, match="nowhere"):
        Feed(ParserTable(content_exits=(Exit("a", "nowhere"),)))


def test_the_end_of_a_call_that_was_cut():
    states = {
        "name": NameState(exits=(Exit(":", "key"),)),
        "key": ParameterNameState(exits=(Exit("=", "value"),)),
        "value": ParameterValueState(exits=(Exit((";", "."), CONTENT, closes=True),)),
    }
    table = ParserTable(states=states, content_exits=(Exit("<c>", "name", opens=True),))
    for cut, arguments in ((True, '{"a": "b"'), (False, '{"a": "b"}')):
        assert Feed(table).slowly("<c>f:a=b;", cut=cut).calls == (("f", arguments),)


def message(*calls, **texts):
    made = [ToolCall(id=str(number), name=name, arguments=text) for number, (name, text) in enumerate(calls)]
    return ParsedMessage(tool_calls=made, **texts)


@pytest.mark.parametrize(
    "before, after, says",
    [
        (message(content="ab"), message(content="b"), "content and reasoning must only grow"),
        (message(reasoning="ab"), message(), "content and reasoning must only grow"),
        (message(("f", "")), message(), "a call that has begun must stay"),
        (message(("f", "")), message(("fo", "")), "must not change once it has begun"),
        (message(("f", "{")), message(("f", "}")), "arguments must only grow"),
        (message(("f", "{"), ("g", "")), message(("f", "{}"), ("g", "")), "complete before the next one begins"),
    ],
)
def test_what_is_no_growth(before, after, says):
    with pytest.raises(ConformanceError, match=says):
        check_growth(before, after)
    check_growth(before, before)
    check_growth(ParsedMessage(), after)
