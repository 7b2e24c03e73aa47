"""Reasoning parser and tool parser of a family together: thoughts, calls, thoughts again, an answer; cut everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pkgutil import resolve_name
from typing import NamedTuple

import pytest

from kernelet.contracts.parsing import ParserContext, ParserOffer, ParserTable
from kernelet.request.message import ParsedMessage, ToolCall
from kernelet.testing.parsing.feed import Feed
from kernelet.testing.parsing.sample import Parsed
from kernelet.text.parsing.table import combine

reasoning_renders = pytest.importorskip("kernelet_parsers_reasoning.renders")
call_renders = pytest.importorskip("kernelet_parsers_tool.templates")
reasoning_plugin = pytest.importorskip("kernelet_parsers_reasoning.plugin")
tool_plugin = pytest.importorskip("kernelet_parsers_tool.plugin")

TOOLS = ({"name": "now", "parameters": {"type": "object", "properties": {"place": {"type": "string"}}}},)
CALLS = (ToolCall(id="functions.now:0", name="now", arguments='{"place": "a b"}'),)
THINK = ("<think>", "</think>")


class Pair(NamedTuple):
    """Two parsers, and what their models write.

    Attributes:
        reasoning: Name of the parser.
        tool: Name of the parser.
        think: Writes reasoning that is followed by a call.
        call: Writes content and calls.
        tokens: The tags, where they are tokens.
    """

    reasoning: str
    tool: str
    think: str
    call: str
    tokens: Sequence[str] = THINK


PAIRS = (
    Pair("deepseek_r1", "deepseek_v3", "qwen3", "deepseek_v3"),
    Pair("deepseek_v3", "deepseek_v31", "bare", "deepseek_v31"),
    Pair("qwen3", "hermes", "qwen3", "hermes"),
    Pair("qwen3", "qwen3_coder", "qwen3", "qwen3_coder"),
    Pair("mistral", "mistral", "mistral", "mistral_named", ("[THINK]", "[/THINK]", "[TOOL_CALLS]", "[ARGS]")),
    Pair("granite", "granite", "bare", "granite", ("<|tool_call|>",)),
    Pair("glm45", "glm45", "glm46", "glm45"),
    Pair("glm47", "glm47", "glm47", "glm47"),
    Pair("kimi_k2", "kimi_k2", "bare", "kimi_k2"),
    Pair("minimax_m2", "minimax_m2", "minimax_m2", "minimax_m2"),
    Pair("olmo3", "olmo3", "bare", "olmo3", ()),
    Pair("step3p5", "step3p5", "step3", "step3p5"),
)
HARMONY = ("<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|call|>", "<|return|>")


@pytest.fixture(params=PAIRS, ids=lambda pair: f"{pair.reasoning} and {pair.tool}")
def pair(request: pytest.FixtureRequest) -> Pair:
    found: Pair = request.param
    return found


def table_of(offers: Sequence[ParserOffer], name: str, context: ParserContext) -> ParserTable:
    target = next(offer.target for offer in offers if offer.name == name)
    make: Callable[[ParserContext], ParserTable] = resolve_name(target)
    return make(context)


def feed_of(reasoning: str, tool: str, *, tokens: Sequence[str] = (), drops_calls: bool = False) -> Feed:
    context = ParserContext(tools=TOOLS, prompt="assistant\n", parses_tools=True, parses_reasoning=True)
    calls = table_of(tool_plugin.kernelet_tool_parsers(), tool, context)
    thoughts = table_of(reasoning_plugin.kernelet_reasoning_parsers(), reasoning, context)
    return Feed(combine(calls, thoughts), tokens=tokens, tools=TOOLS, drops_calls=drops_calls)


def think(pair: Pair, thought: str) -> str:
    write: Callable[[str, str], str] = getattr(reasoning_renders, pair.think)
    return write(thought, "")


def call(pair: Pair, content: str = "") -> str:
    write: Callable[[ParsedMessage, Sequence[object]], str] = getattr(call_renders, pair.call)
    return write(ParsedMessage(content=content, tool_calls=list(CALLS)), TOOLS)


def interleaved(pair: Pair) -> str:
    """What a model writes that thinks again after a call."""
    return think(pair, "step one") + call(pair, "Look:") + think(pair, "step two") + call(pair)


def squeezed(found: Parsed) -> Parsed:
    """Without the whitespace where content meets markup, which is not the same in all templates."""
    return Parsed(found.reasoning, found.content.strip(), found.calls)


EXPECTED = Parsed("step onestep two", "Look:", (("now", '{"place": "a b"}'),) * 2)


@pytest.mark.parametrize("tokens", [False, True], ids=["text", "tokens"])
def test_thoughts_between_calls_at_every_cut(pair: Pair, tokens: bool):
    feed = feed_of(pair.reasoning, pair.tool, tokens=pair.tokens if tokens else ())
    text = interleaved(pair)
    whole = feed.parse(text)
    assert squeezed(whole) == EXPECTED
    assert feed.slowly(text) == whole
    for place in range(1, len(text)):
        assert feed.parse(text, [place]) == whole


def test_the_end_of_thoughts_and_the_begin_of_a_call_in_one_delta(pair: Pair):
    """The tail of reasoning, its end and the first token of a call come at once."""
    feed = feed_of(pair.reasoning, pair.tool)
    begin = think(pair, "step one")
    text = begin + call(pair)
    for before in range(1, 24):
        for behind in (1, 3, 8):
            found = feed.parse(text, [len(begin) - before, len(begin) + behind])
            assert squeezed(found) == Parsed("step one", "", EXPECTED.calls[:1])


def test_calls_are_dropped_and_thoughts_stay_where_none_are_wanted(pair: Pair):
    found = feed_of(pair.reasoning, pair.tool, drops_calls=True).parse(interleaved(pair))
    assert squeezed(found) == Parsed("step onestep two", "Look:", ())


def test_harmony_is_one_table_at_every_cut():
    text = (
        "<|channel|>analysis<|message|>step one<|end|><|start|>assistant<|channel|>commentary<|message|>Look:<|end|>"
        '<|start|>assistant<|channel|>commentary to=functions.now <|constrain|>json<|message|>{"place": "a b"}<|call|>'
    )
    for tokens in ((), HARMONY):
        feed = feed_of("openai_gptoss", "openai", tokens=tokens)
        for place in range(1, len(text)):
            assert feed.parse(text, [place]) == Parsed("step one", "Look:", EXPECTED.calls[:1])
