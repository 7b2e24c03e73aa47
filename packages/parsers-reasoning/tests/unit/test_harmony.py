from __future__ import annotations

import pytest

from kernelet.contracts.parsing import CONTENT, REASONING, ParserContext
from kernelet.testing.parsing.feed import Feed
from kernelet.testing.parsing.sample import Parsed
from kernelet_parsers_reasoning.harmony import openai_gptoss, read_header


def parse(text: str, prompt: str = "<|start|>assistant", *, cut: bool = False) -> Parsed:
    return Feed(openai_gptoss(ParserContext(prompt=prompt))).parse(text, cut=cut)


@pytest.mark.parametrize(
    "header, to",
    [
        ("analysis", REASONING),
        (" analysis ", REASONING),
        ("assistant<|channel|>analysis", REASONING),
        ("analysis to=python code", REASONING),
        ("final", CONTENT),
        ("final <|constrain|>json", CONTENT),
        ("commentary", CONTENT),
        ("assistant to=functions.f<|channel|>commentary json", CONTENT),
        ("assistant", CONTENT),
        ("analysis_of_something", CONTENT),
        ("", CONTENT),
    ],
)
def test_a_header_names_the_channel(header: str, to: str):
    assert read_header(header).to == to
    assert read_header(header).call is None


def test_messages():
    text = (
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary<|message|>b<|end|>"
        "<|start|>assistant<|channel|>analysis<|message|>c<|end|><|start|>assistant<|channel|>final<|message|>d<|return|>"
    )
    assert parse(text) == Parsed("ac", "bd", ())


def test_arguments_of_a_call_are_content_where_no_tool_parser_runs():
    text = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
    assert parse(text) == Parsed("", "{}", ())


def test_a_header_that_a_limit_cut_says_nothing():
    assert parse("<|channel|>analy", cut=True) == Parsed("", "", ())


def test_a_message_that_forgets_to_end():
    assert parse("<|channel|>analysis<|message|>a<|channel|>final<|message|>b") == Parsed("a", "b", ())


def test_text_without_channels_is_content():
    assert parse("Hello.") == Parsed("", "Hello.", ())


def test_a_recipient_may_stand_before_the_channel():
    text = " to=functions.f<|channel|>commentary json<|message|>to={}<|call|>"
    assert parse(text) == Parsed("", "to={}", ())


@pytest.mark.parametrize(
    "prompt, expected",
    [
        ("", Parsed("", "a", ())),
        ("<|start|>user<|message|>Hi<|end|><|start|>assistant<|channel|>analysis<|message|>I", Parsed("a", "", ())),
        ("<|start|>assistant<|channel|>final<|message|>I", Parsed("", "a", ())),
        ("<|start|>user<|message|><|channel|>analysis<|message|>Hi<|end|><|start|>assistant", Parsed("", "a", ())),
    ],
)
def test_prompts_that_end_inside_a_message(prompt: str, expected: Parsed):
    assert parse("a", prompt) == expected
