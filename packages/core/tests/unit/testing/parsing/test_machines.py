from __future__ import annotations

from kernelet.contracts.parsing import ParserContext
from kernelet.testing.parsing.feed import Feed
from kernelet.testing.parsing.machines import HoldsNothingBack
from kernelet.testing.tool_parser.reference import json_table

TEXT = 'So: <call>{"name": "now", "arguments": {}}</call>'


def test_it_leaks_a_tag_that_was_cut_and_is_right_otherwise():
    feed = Feed(json_table(ParserContext(parses_tools=True)), HoldsNothingBack)
    cut = feed.parse(TEXT, [TEXT.index("<call>") + 2])
    assert (cut.content, cut.calls) == (TEXT.removesuffix("</call>"), ())  # whose end is a stray one
    assert feed.parse(TEXT) == Feed(json_table(ParserContext(parses_tools=True))).parse(TEXT)
