"""Every family in short: its samples and random calls, cut at random. The suites do it at length."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from kernelet.contracts.parsing import ParserContext, ToolParserOffer
from kernelet.testing.offered import find_offer
from kernelet.testing.parsing.draw import Shape, make_case, message_of
from kernelet.testing.parsing.feed import Feed, markers_of, places_of
from kernelet.testing.parsing.sample import same_calls
from kernelet_parsers_tool.conformance import PLUGIN


@pytest.fixture
def feed(family):
    target = find_offer(PLUGIN, ToolParserOffer, family.name).target
    able = family.capabilities
    context = ParserContext(prompt=able.prompt, parses_tools=True, parses_reasoning=able.parses_reasoning)

    def make(tools=(), tokens=(), prompt=""):
        given = replace(context, tools=tools, prompt=prompt or context.prompt)
        return Feed(target(given), tools=tools, tokens=tokens)

    return make


def test_samples_cut_at_random(family, feed):
    for sample in family.capabilities.samples:
        for tokens in ((), family.capabilities.tokens):
            made = feed(sample.tools, tokens, sample.prompt)
            whole = made.parse(sample.text, cut=sample.cut)
            assert (whole.content, whole.reasoning) == (sample.content, sample.reasoning)
            assert same_calls(whole.calls, sample.calls)
            assert made.slowly(sample.text, cut=sample.cut) == whole
            for seed in range(8):
                assert made.parse(sample.text, places_of(sample.text, seed), cut=sample.cut) == whole


def test_random_calls_come_back(family, feed):
    able = family.capabilities
    shape = Shape(markers=markers_of(feed().table), carries=able.carries, typed=able.types == "xml")
    draw = random.Random(1)
    for seed in range(8):
        case = make_case(shape, draw.randint(1, 3 if able.many_calls else 1), 1 + seed % 3, seed)
        text = family.write(message_of(case.calls, "So." if able.content_before else ""), case.tools)
        for tokens in ((), able.tokens):
            found = feed(case.tools, tokens).parse(text, places_of(text, seed))
            assert same_calls(found.calls, case.calls)
            assert found.content.strip() == ("So." if able.content_before else "")
