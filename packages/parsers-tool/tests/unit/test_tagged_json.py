from __future__ import annotations

import itertools

import pytest

from kernelet.contracts.parsing import ParserContext
from kernelet.testing.parsing.feed import Feed
from kernelet_parsers_tool import tagged_json

TWO = '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call><tool_call>{"name":"g","arguments":{}}</tool_call>'


def feed(target=tagged_json.hermes, **options):
    return Feed(target(ParserContext()), **options)


@pytest.mark.parametrize("tokens", [(), ("<tool_call>", "</tool_call>")])
def test_two_calls_at_every_pair_of_cuts(tokens):
    calls = (("f", '{"a":1}'), ("g", "{}"))
    for pair in itertools.combinations(range(0, len(TWO), 2), 2):
        assert feed(tokens=tokens).parse(TWO, pair).calls == calls


def test_an_array_of_objects_that_begins_in_one_delta():
    text = '<tool_call>{"name":"f","arguments":{"numbers":[{"v":1}]}}</tool_call>'
    cut = text.index('[{"')
    assert feed().parse(text, [cut, cut + 3]).calls == (("f", '{"numbers":[{"v":1}]}'),)


def test_a_marker_that_is_a_token_counts_only_as_that_token():
    text = '<tool_call>{"name": "f", "arguments": {}}'
    parser = feed(tokens=["<tool_call>"]).parser()
    for span in feed().spans(text):
        parser.push([span])
    assert parser.finish().content == text


@pytest.mark.parametrize(
    "target, text",
    [
        (tagged_json.granite, '<|tool_call|>[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]'),
        (tagged_json.granite, '<tool_call>[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]'),
        (tagged_json.jamba, '<tool_calls>[{"name": "f", "arguments": {}},{"name": "g"}]</tool_calls>'),
        (tagged_json.phi4_mini, 'functools[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]'),
        (tagged_json.phi4_mini, 'functools [{"name": "f"}, {"name": "g"}]'),
        (
            tagged_json.internlm,
            '<|action_start|><|plugin|>{"name": "f"}<|action_end|>\n<|action_start|> <|plugin|>{"name": "g"}',
        ),
    ],
)
def test_lists_and_rows(target, text):
    found = feed(target).parse(text, range(len(text)))
    assert (found.content, found.calls) == ("", (("f", "{}"), ("g", "{}")))


def test_text_around_calls_is_content():
    text = 'a\n<tool_call>{"name": "f"}</tool_call> b\n\n<tool_call>{"name": "g"}</tool_call>c</tool_call>d'
    assert feed().parse(text, range(len(text))).content == "a bcd"
