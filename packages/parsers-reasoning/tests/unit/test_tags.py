"""The table of tags: what opens and closes reasoning, and what stands around the tags."""

from __future__ import annotations

import pytest

from kernelet.contracts.parsing import CONTENT, REASONING, ParserContext
from kernelet.testing.parsing.feed import Feed
from kernelet.testing.parsing.sample import Parsed
from kernelet_parsers_reasoning.tags import tagged


def parse(text: str, prompt: str = "Hi", **options: object) -> Parsed:
    return Feed(tagged(ParserContext(prompt=prompt), **options)).parse(text)  # type: ignore[arg-type]


def test_newlines_around_tags_are_theirs():
    assert parse("<think>\n\na\n b \n</think>\n\nc\n") == Parsed("a\n b ", "c\n", ())


def test_other_characters_may_be_theirs():
    assert parse("\n <think> a </think> c ", around=" \n") == Parsed("a", "c ", ())
    assert parse("<think> a </think> c ", around="") == Parsed(" a ", " c ", ())


@pytest.mark.parametrize("text", ["Use <think> tags.", "a <think>b</think>"])
def test_an_opening_tag_in_the_middle_of_content_is_text(text: str):
    assert parse(text).content == text.removesuffix("</think>")
    assert parse(text, anywhere=True).reasoning


def test_an_opening_tag_counts_behind_reasoning_that_has_ended():
    assert parse("<think>a</think>\n<think>b</think>c") == Parsed("ab", "c", ())


def test_the_model_may_repeat_the_tag_that_the_prompt_has():
    assert parse("\n<think>\na</think>b", "<think>\n") == Parsed("a", "b", ())


def test_tags_around_the_answer():
    assert parse("<think>a</think>\n<answer>\nb\n</answer>\n", answer="answer") == Parsed("a", "b", ())
    assert parse("<answer>\nb", answer="answer") == Parsed("", "b", ())
    assert parse("b <answer> c", answer="answer") == Parsed("", "b <answer> c", ())


@pytest.mark.parametrize(
    "prompt, start",
    [
        ("", CONTENT),
        ("Hi", CONTENT),
        ("<|im_start|>assistant\n<think>\n", REASONING),
        ("What is <think>?", CONTENT),
        ("<think>\n\n</think>\n\n", CONTENT),
    ],
)
def test_the_end_of_the_prompt_says_whether_reasoning_is_open(prompt: str, start: str):
    assert tagged(ParserContext(prompt=prompt)).start == start
