"""Whatever a constrained answer may hold, the family's own parser reads back as calls that keep to their schemas."""

from __future__ import annotations

import json
import random

import pytest

from kernelet.contracts.parsing import ParserContext, ToolParserOffer
from kernelet.contracts.structured import GrammarRules, Text, Union
from kernelet.request.structured import FreeState, RulesState
from kernelet.structured.refusal import UnenforcedError
from kernelet.structured.rules import decode
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.tags.calls import call_states, tool_calls
from kernelet.testing.grammar_engine.sample import sample_text
from kernelet.testing.offered import find_offer
from kernelet.text.detokenizer import Span
from kernelet.text.parsing.machine import OutputParser
from kernelet.text.parsing.table import CompiledTable
from kernelet_parsers_tool import conformance

FAMILIES = {
    "hermes": ("<tool_call>", "</tool_call>"),
    "granite": ("<|tool_call|>",),
    "internlm": ("<|action_start|>", "<|plugin|>", "<|action_end|>"),
    "jamba": (),
    "phi4_mini_json": (),
    "llama3_json": ("<|python_tag|>",),
    "xlam": (),
    "mistral": ("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"),
    "deepseek_v3": conformance.DEEPSEEK,
    "deepseek_v31": conformance.DEEPSEEK,
    "kimi_k2": conformance.KIMI,
}
"""Families that say how they write calls, and what of it is a token in their models' vocabularies."""

WITHOUT_MARKER = {"phi4_mini_json", "llama3_json", "xlam"}
"""Whose calls in the middle of text cannot be told from it by a marker alone; those that must come can be held."""

NOT_HELD = (
    "llama4_pythonic", "pythonic", "olmo3", "qwen3_coder", "minimax_m2", "glm45", "gemma4", "openai",
)  # fmt: skip

TOOLS = (
    {"name": "get", "parameters": {"const": "a"}, "strict": True},
    {"name": "get_more", "parameters": {"const": "b"}},
)
HARD = (
    "</tool_call>",
    "```",
    "<|tool_call_end|>",
    '"}}]',
    "[TOOL_CALLS]",
    "functools[",
    "<｜tool▁call▁end｜>",
    "\\\\",
    "é",
)


def lower(schema, options):
    """Objects with one property, whose text is hard to read over; any object: with one that nobody declared."""
    del options
    key = schema.get("const", "other")
    return GrammarRules({"root": Union(tuple(Text(json.dumps({key: text}, ensure_ascii=False)) for text in HARD))})


def table_of(name):
    offered = find_offer(conformance.PLUGIN, ToolParserOffer, name)
    return offered.target(ParserContext(tools=TOOLS, parses_tools=True))


def answer(states, choose):
    """A random answer: its parts, and whether each is a token."""
    parts, state, steps = [], 0, 0
    while state is not None:
        known, steps = states[state], steps + 1
        if isinstance(known, RulesState):
            parts.append((sample_text(decode(known.rules), choose), False))
            state = known.next
            continue
        if isinstance(known, FreeState):
            parts.append((choose.choice(["", "hi ", "a\n", "{}"]), False))
        if known.may_end and (steps > 9 or choose.random() < 0.3 or not known.exits):
            break
        exit_ = choose.choice(known.exits)
        parts.append((exit_.marker.text, exit_.marker.token_id is not None))
        state = exit_.next
    return parts


@pytest.mark.parametrize("with_tokens", [True, False], ids=["tokens", "texts"])
@pytest.mark.parametrize("choice", ["auto", "required", "get_more"])
@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_allowed_is_read_back(name, choice, with_tokens):
    table = table_of(name)
    tokens = {text: index for index, text in enumerate(FAMILIES[name])} if with_tokens else {}
    if choice == "auto" and (name in WITHOUT_MARKER or (name == "internlm" and not tokens)):
        with pytest.raises(UnenforcedError, match="require a call"):
            call_states(tool_calls(table, TOOLS, choice), JsonOptions(), tokens, lower)
        return
    compiled = CompiledTable(table, tokens.__contains__)
    for parallel in (True, False):
        states = call_states(tool_calls(table, TOOLS, choice, parallel=parallel), JsonOptions(), tokens, lower)
        choose, counts = random.Random(7), set()
        for _ in range(25):
            parser = OutputParser(compiled, TOOLS)
            parts = answer(states, choose)
            for text, is_token in parts:
                parser.push([Span(text, (0,), special=is_token)])
            message = parser.finish()
            written = sum(text.count('{"a": ') + text.count('{"b": ') + text.count('{"other": ') for text, _ in parts)
            assert len(message.tool_calls) == written, parts
            counts.add(written)
            for call in message.tool_calls:
                keys = {"get": {"a"}, "get_more": {"other"} if choice == "auto" else {"b"}}
                value = json.loads(call.arguments)
                assert set(value) == keys[call.name]
                assert set(value.values()) <= set(HARD)
            assert choice == "auto" or not message.content.strip()
        assert (0 in counts) == (choice == "auto")
        assert max(counts) > 1 if parallel and choice != "get_more" else max(counts) == 1


@pytest.mark.parametrize("name", NOT_HELD)
def test_families_whose_arguments_are_no_json_say_nothing(name):
    with pytest.raises(UnenforcedError, match="cannot be constrained"):
        call_states(tool_calls(table_of(name), TOOLS), JsonOptions(), {}, lower)


def test_every_family_is_one_or_the_other():
    from kernelet_parsers_tool.plugin import kernelet_tool_parsers

    same = {
        "llama3-json",
        "llama4_json",
        "granite4",
        "internlm2",
        "phi4-mini",
        "deepseek-v3",
        "deepseek-v3.1",
        "kimi-k2",
    }
    for offer in kernelet_tool_parsers():
        held = table_of(offer.name).call_syntax is not None
        assert held == (offer.name in FAMILIES or offer.name in same)
