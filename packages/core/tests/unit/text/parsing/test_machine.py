from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.parsing import CONTENT, REASONING, Exit, JsonCallsState, ParserContext, ParserTable, TextState
from kernelet.testing.parsing.feed import Feed, spans_of
from kernelet.testing.parsing.sample import Parsed, parsed
from kernelet.testing.reasoning_parser.reference import table as reasoning_table
from kernelet.testing.tool_parser.reference import json_table, python_table, xml_table
from kernelet.text.detokenizer import Span
from kernelet.text.parsing.machine import OutputParser
from kernelet.text.parsing.table import CompiledTable, combine

REASONS = reasoning_table(ParserContext())
TABLES = [combine(table(ParserContext()), REASONS) for table in (json_table, xml_table, python_table)]
TOKENS = ("<call>", "</call>", "<thought>", "</thought>")
BODIES = ("<f:f>", "</f>", "<p:a>", "</p>", '{"name": "f", "arguments": {', "}}", "[f(a=", "1", ")]")
PIECES = st.lists(st.sampled_from([*TOKENS, *BODIES, "\n", " ", "x", "<", '"']), max_size=14)
PLACES = st.lists(st.integers(0, 80), max_size=4)
CALL = '<call>{"name": "f", "arguments": {}}</call>'


@settings(max_examples=150)
@given(st.sampled_from(TABLES), PIECES, st.booleans(), st.booleans(), PLACES)
def test_no_cut_changes_a_message(table, pieces, tokens, cut, places):
    """Text that no model writes, in all states."""
    text = "".join(pieces)
    feed = Feed(table, tokens=TOKENS if tokens else ())
    whole = feed.parse(text, cut=cut)
    assert feed.slowly(text, cut=cut) == whole
    assert feed.parse(text, [place for place in places if place < len(text)], cut=cut) == whole


@given(st.text("a<>/ \n", max_size=20), st.booleans())
def test_what_is_no_markup_is_content(text, cut):
    for table in TABLES:
        assert Feed(table).parse(text, cut=cut) == Parsed("", text, ())


def table(*exits, **states):
    return ParserTable(states=states, content_exits=exits)


def test_markers_are_tokens_or_text():
    ends = table(Exit("<end>", "end"), end=TextState(into="", exits=()))
    for tokens, content in (((), "a"), (("<end>",), "a<end>b")):
        parser = OutputParser(CompiledTable(ends, tokens.__contains__))
        parser.push([Span("a<end>b", (1, 2, 3))])
        assert parser.finish().content == content
    parser = OutputParser(CompiledTable(ends, ("<end>",).__contains__))
    parser.push([Span("a", (1,)), Span("<end>", (2,), special=True), Span("b", (3,))])
    assert parser.finish().content == "a"
    parser = OutputParser(CompiledTable(ends, ("<end>",).__contains__))
    parser.push([Span("<other>", (1,), special=True)])
    assert parser.finish().content == "<other>"


def test_a_kept_marker_is_handed_on_as_what_it_is():
    keeps = table(
        Exit("<a>", "a", keeps=True),
        a=TextState(exits=(Exit("<a>", "b", keeps=True),)),
        b=TextState(into="", exits=(Exit("<a>", CONTENT),)),
    )
    for tokens in ((), ("<a>",)):
        assert Feed(keeps, tokens=tokens).slowly("x<a>y") == Parsed("", "xy", ())


def test_what_follows_a_marker_is_dropped():
    drops = table(Exit("<a>", CONTENT, after=" \n"))
    for tokens in ((), ("<a>",)):
        feed = Feed(drops, tokens=tokens)
        assert feed.slowly("x<a> \n y <a><a> \n") == feed.parse("x<a> \n y <a><a> \n") == Parsed("", "xy ", ())


@pytest.mark.parametrize("first, second", [("a", "a"), ("ba", "a")])
def test_circles(first, second):
    circles = table(
        Exit(first, "a", keeps=True),
        a=TextState(exits=(Exit(second, "b", keeps=True),)),
        b=TextState(exits=(Exit(second, "a", keeps=True),)),
    )
    with pytest.raises(ValueError, match="the parser's table goes in circles"):
        Feed(circles).parse("xbay")


def test_circles_of_values_that_never_come():
    circles = table(Exit("<c>", "a"), a=JsonCallsState(to="a"))
    assert Feed(circles).parse("<c>x").content == "x"
    with pytest.raises(ValueError, match="circles"):
        Feed(
            table(
                Exit("<c>", "name", opens=True),
                name=JsonCallsState(to="arguments"),
                arguments=TextState(exits=(Exit("x", "more", keeps=True),)),
                more=TextState(exits=(Exit("x", "arguments", keeps=True),)),
            )
        ).parse('<c>{"name": "f"}x')


def test_reasoning_goes_on_until_its_marker():
    thinks = ParserTable(
        states={REASONING: TextState(into=REASONING, exits=(Exit("</t>", CONTENT),))}, content_exits=(), start=REASONING
    )
    parser = OutputParser(CompiledTable(thinks))
    seen = []
    for span in spans_of("a</t>b", places=range(9)):
        parser.push([span])
        seen.append((parser.in_reasoning, parser.message.num_reasoning_tokens))
    assert seen == [(True, 1), (True, 2), (True, 3), (True, 4), (False, 5), (False, 5)]
    assert parsed(parser.finish()) == Parsed("a", "b", ())


def test_tokens_without_text_are_counted():
    thinks = ParserTable(states={REASONING: TextState(into=REASONING, exits=(Exit("</t>", CONTENT),))}, start=REASONING)
    parser = OutputParser(CompiledTable(thinks, ("</t>",).__contains__))
    parser.push([Span("", (1,)), Span("a", (2, 3)), Span("</t>", (4,), special=True), Span("b", (5,))])
    assert parser.message.num_reasoning_tokens == 4


@pytest.mark.parametrize("piece", ["\n", "<", "<call>", "</call>\n", "x", CALL])
def test_the_cost_of_a_character_is_one(piece):
    """Counted; a text as long as this would not come to its end in time if each piece cost as much as the text."""
    size = 60_000 // len(piece)
    for places in ((), range(0, size * len(piece), 50)):
        parser = OutputParser(CompiledTable(TABLES[0]))
        parser.push(spans_of(piece * size, places=places))
        message = parser.finish()
        assert parser.looked == size * len(piece)
        assert len(message.content) + len(message.tool_calls) > 0 or piece == "</call>\n"


def test_choices_in_turns():
    compiled = CompiledTable(TABLES[1])
    text = "<thought>a</thought>b<call>\n<f:f>\n<p:a>\n1\n</p>\n</f>\n</call>c"
    expected = Feed(TABLES[1]).parse(text)
    parsers = [OutputParser(compiled) for _ in range(3)]
    for number, (late, parser) in itertools.product(range(len(text)), enumerate(parsers)):
        at = number - 5 * late
        parser.push(spans_of(text[at : at + 1]) if at >= 0 else [])
    for late, parser in enumerate(parsers):
        parser.push(spans_of(text[len(text) - 5 * late :]) if late else [])
        assert parsed(parser.finish()) == expected
