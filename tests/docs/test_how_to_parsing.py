"""The parsers of docs/plugins/parsing.md do what their page says."""

from __future__ import annotations

import pytest
from kit import run_suites

from kernelet.contracts.parsing import ParserContext, ReasoningParserOffer, ToolParserOffer
from kernelet.testing.offered import find_offer
from kernelet.testing.parsing.feed import Feed
from kernelet.testing.parsing.sample import Parsed
from kernelet.text.parsing.table import combine


def test_parsers(example):
    plugin = example("parsing").plugin
    calls, reasoning = (find_offer(plugin, kind).target for kind in (ToolParserOffer, ReasoningParserOffer))
    context = ParserContext(prompt="<thought>\n", parses_tools=True, parses_reasoning=True)
    feed = Feed(combine(calls(context), reasoning(context)))
    text = 'what time [[call: is it</thought>\nWait. [[call: now {"zone": "]]"} ]] [[call: no'
    assert feed.slowly(text) == Parsed("what time [[call: is it", "Wait. [[call: no", (("now", '{"zone": "]]"}'),))


@pytest.mark.long
def test_conformance(example, tmp_path):
    suites = example("parsing").load("conformance")
    listener = run_suites([suites.TestBoxes, suites.TestThoughts], tmp_path)
    assert not listener.messages
    assert min(listener.passed.values()) > 10
