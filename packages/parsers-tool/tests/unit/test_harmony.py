from __future__ import annotations

import pytest

from kernelet.contracts.parsing import ParserContext
from kernelet.testing.parsing.feed import Feed
from kernelet.testing.parsing.sample import Parsed
from kernelet_parsers_tool.harmony import harmony

TOKENS = ("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>", "<|constrain|>")


def parse(text, *, tokens=(), prompt="<|start|>assistant", tools=(), thinks=True):
    context = ParserContext(prompt=prompt, tools=tools, parses_tools=True, parses_reasoning=thinks)
    return Feed(harmony(context), tokens=tokens).parse(text, range(len(text)))


@pytest.mark.parametrize("tokens", [(), TOKENS])
@pytest.mark.parametrize(
    "header",
    [
        " to=functions.f<|channel|>commentary json",
        " to=functions.f<|channel|>commentary <|constrain|>json",
        "<|channel|>commentary to=functions.f <|constrain|>json",
        "<|channel|>commentary to=functions.f json",
        "<|channel|>analysis to=functions.f code",
        "<|channel|>commentary to=functions.f<|constrain|>json",
        "<|start|>assistant<|channel|>commentary to=functions.f",
        "<|channel|>commentary to=assistant<|channel|>commentary to=functions.f"[26:],
    ],
)
def test_headers_of_calls(tokens, header):
    assert parse(header + '<|message|>{"a": "<|end|>"}<|call|>', tokens=tokens).calls == (("f", '{"a": "<|end|>"}'),)


def test_preambles_are_content_and_analysis_is_reasoning():
    text = (
        "<|channel|>analysis<|message|>One.<|end|><|start|>assistant<|channel|>commentary<|message|>Two.<|end|>"
        "<|start|>assistant<|channel|>analysis<|message|>Three.<|end|><|start|>assistant<|channel|>final<|message|>Four.<|return|>"
    )
    assert parse(text, tokens=TOKENS) == Parsed("One.Three.", "Two.Four.", ())


def test_a_tool_that_is_not_declared_is_part_of_reasoning():
    text = "<|channel|>commentary to=python code<|message|>print(1)<|call|>"
    assert parse(text) == Parsed("print(1)", "", ())
    assert parse(text.replace("print(1)", "{}"), tools=({"name": "python"},)) == Parsed("", "", (("python", "{}"),))


def test_without_a_reasoning_parser_reasoning_is_content():
    text = "<|channel|>analysis<|message|>One.<|end|><|start|>assistant<|channel|>final<|message|>Two."
    assert parse(text, thinks=False) == Parsed("", "One.Two.", ())


@pytest.mark.parametrize(
    "prompt, expected",
    [
        ("<|start|>assistant", Parsed("", "so", ())),
        ("<|start|>assistant<|channel|>analysis<|message|>", Parsed("so", "", ())),
        ("<|start|>assistant<|channel|>final<|message|>", Parsed("", "so", ())),
        ("<|start|>assistant<|channel|>analysis<|message|>I think", Parsed("so", "", ())),
        ("<|channel|>analysis<|message|>said the user<|end|><|start|>assistant", Parsed("", "so", ())),
    ],
)
def test_where_the_prompt_leaves_off(prompt, expected):
    assert parse("so", prompt=prompt) == expected


def test_a_header_that_never_ends_says_nothing():
    assert parse("<|channel|>analysis", tokens=TOKENS) == Parsed("", "", ())
