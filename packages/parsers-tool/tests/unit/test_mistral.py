from __future__ import annotations

import re

import pytest

from kernelet.contracts.parsing import ParserContext
from kernelet.testing.parsing.feed import Feed
from kernelet_parsers_tool import mistral

TOKENS = ("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]")
TWO = [("f", '{"a": "]"}'), ("g", "{}")]


@pytest.mark.parametrize("tokens", [(), TOKENS])
@pytest.mark.parametrize(
    "text",
    [
        '[TOOL_CALLS][{"name": "f", "arguments": {"a": "]"}}, {"name": "g", "arguments": {}}]',
        ' [TOOL_CALLS] [\n{"name": "f", "arguments": {"a": "]"}, "id": "aaaaaaaaa"},{"name": "g"} ]',
        '[TOOL_CALLS]{"name": "f", "arguments": {"a": "]"}}\n[TOOL_CALLS]{"name": "g"}',
        '[TOOL_CALLS]f[ARGS]{"a": "]"}[TOOL_CALLS]g[ARGS]{}',
        '[TOOL_CALLS]f[CALL_ID]aaaaaaaaa[ARGS]{"a": "]"}[TOOL_CALLS]g[CALL_ID]bbbbbbbbb[ARGS]{}',
        '[TOOL_CALLS]f{"a": "]"}[TOOL_CALLS]g{}',
        '[TOOL_CALLS] f [ARGS] {"a": "]"} [TOOL_CALLS]g[ARGS] {}',
    ],
)
def test_forms(tokens, text):
    message = Feed(mistral.mistral(ParserContext()), tokens=tokens).message(text, range(len(text)))
    assert message.content.strip() == ""
    assert [(call.name, call.arguments) for call in message.tool_calls] == TWO
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", call.id) for call in message.tool_calls)


def test_the_model_s_id_is_the_call_s():
    text = "[TOOL_CALLS]f[CALL_ID]bbc5b7ede[ARGS]{}"
    assert Feed(mistral.mistral(ParserContext()), tokens=TOKENS).message(text).tool_calls[0].id == "bbc5b7ede"


def test_every_token_is_kept_by_the_detokenizer():
    assert Feed(mistral.mistral(ParserContext()), tokens=TOKENS)._compiled.tokens == set(TOKENS)


@pytest.mark.parametrize("text", ["[TOOL_CALLS]two words[ARGS]{}", "[TOOL_CALLS]", "[TOOL_CALLS][1]", "[TOOL_CALLS]f"])
def test_what_is_no_call_is_content(text):
    found = Feed(mistral.mistral(ParserContext())).parse(text, range(len(text)))
    assert found.calls == ()
    assert found.content.replace("[ARGS]", "") == text.replace("[ARGS]", "")


def test_ids_differ():
    assert len({mistral.new_id() for _ in range(200)}) == 200
