"""What users reported of other engines' parsers, held against every family here."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from kernelet.contracts.parsing import ParserContext, ToolParserOffer
from kernelet.testing.offered import find_offer
from kernelet.testing.parsing.draw import message_of
from kernelet.testing.parsing.feed import Feed
from kernelet.testing.parsing.sample import plain, same_calls
from kernelet_parsers_tool.conformance import PLUGIN

TOOLS = (
    {
        "name": "f",
        "parameters": {
            "type": "object",
            "properties": {"numbers": {"type": "array"}, "s": {"type": "string"}, "n": {"type": ["integer", "null"]}},
        },
    },
)
NUMBERS = {"numbers": [{"v": 1}]}


@pytest.fixture
def feed(family):
    able = family.capabilities
    context = ParserContext(tools=TOOLS, parses_tools=True, parses_reasoning=able.parses_reasoning, prompt=able.prompt)
    target = find_offer(PLUGIN, ToolParserOffer, family.name).target

    def make(tokens=(), **options):
        return Feed(target(replace(context)), tools=TOOLS, tokens=tokens, **options)

    return make


def test_two_calls_in_pieces_of_any_size(family, feed):
    """Small and large pieces lost calls, and a whole call in one delta had empty arguments."""
    if not family.capabilities.many_calls:
        pytest.skip("one call")
    calls = (("f", {"s": "a"}), ("g", {}))
    text = family.write(message_of(calls), TOOLS)
    draw = random.Random(2)
    for size in (1, 2, 3, 5, 8, 13, len(text)):
        assert same_calls(feed().parse(text, range(0, len(text), size)).calls, calls)
    for _ in range(12):
        assert same_calls(
            feed(family.capabilities.tokens).parse(text, draw.choices(range(len(text)), k=2)).calls, calls
        )


def test_an_array_of_objects_that_opens_in_one_delta(family, feed):
    text = family.write(message_of((("f", NUMBERS),)), TOOLS)
    start = next(text.index(opens) for opens in ('[{"', "[{'", "[{v") if opens in text)
    assert same_calls(feed().parse(text, [start, start + 3]).calls, (("f", NUMBERS),))


def test_a_limit_sweeps_across_the_arguments(family, feed):
    """Names are whole, arguments a beginning, and no call that was cut looks finished."""
    whole = family.write(message_of((("f", {"s": "abc", **NUMBERS}),)), TOOLS)
    final = plain(feed().parse(whole).calls[0][1])
    for end in range(0, len(whole), 2):
        calls = feed().parse(whole[:end], cut=True).calls
        assert [name for name, _ in calls] in ([], ["f"])
        if calls and (arguments := calls[0][1]):
            assert plain(arguments) == final or not is_json(arguments)


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_a_nullable_value_is_null(family, feed):
    calls = (("f", {"n": None, "s": "None"}),)
    assert same_calls(feed().parse(family.write(message_of(calls), TOOLS)).calls, calls)


def test_without_tools_neither_calls_nor_their_markup(family, feed):
    able = family.capabilities
    text = family.write(message_of((("f", {"s": "secret"}),), "So." if able.content_before else ""), TOOLS)
    for tokens in ((), able.tokens):
        found = feed(tokens, drops_calls=True).parse(text, range(len(text)))
        assert (found.content.strip(), found.calls) == ("So." if able.content_before else "", ())
