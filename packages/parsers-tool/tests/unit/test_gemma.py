from __future__ import annotations

import json

import pytest

from kernelet.contracts.parsing import ParserContext
from kernelet.testing.parsing.feed import Feed
from kernelet_parsers_tool.gemma import QUOTE, gemma4

TOKENS = ("<|tool_call>", "<tool_call|>", QUOTE)


@pytest.mark.parametrize("tokens", [(), TOKENS])
def test_calls(tokens):
    text = (
        f'Look:\n<|tool_call>call:f{{a:{QUOTE}x "{{]\n<tool_call|>{QUOTE},b:[1,-2.5,true,None],'
        f"c:{{d e:{QUOTE}{QUOTE}}}}}<tool_call|>"
        "<|tool_call>call:g{}<tool_call|> so"
    )
    found = Feed(gemma4(ParserContext()), tokens=tokens).parse(text, range(len(text)))
    values = {"a": 'x "{]\n<tool_call|>', "b": [1, -2.5, True, None], "c": {"d e": ""}}
    assert found.content == "Look: so"
    assert [(name, json.loads(arguments)) for name, arguments in found.calls] == [("f", values), ("g", {})]


@pytest.mark.parametrize("text", ["<|tool_call>what", "<|tool_call>call:two words{}", "<|tool_call>call:f"])
def test_what_is_no_call_is_content(text):
    found = Feed(gemma4(ParserContext())).parse(text, range(len(text)))
    assert (found.content, found.calls) == (text, ())


def test_every_token_is_kept_by_the_detokenizer():
    assert Feed(gemma4(ParserContext()), tokens=TOKENS)._compiled.tokens == set(TOKENS)
