from __future__ import annotations

import pytest

from kernelet.contracts.parsing import ParserContext
from kernelet.testing.parsing.feed import Feed
from kernelet.testing.parsing.sample import Parsed
from kernelet_parsers_reasoning.granite import granite


def parse(text: str) -> Parsed:
    return Feed(granite(ParserContext(prompt="<|end_of_role|>"))).parse(text)


@pytest.mark.parametrize("here", ["Here is", "Here's"])
def test_sentences(here: str):
    assert parse(f"{here} my thought process:\n\na\n\n{here} my response:\nb") == Parsed("a", "b", ())


def test_a_sentence_counts_only_at_the_start():
    text = "I was asked. Here is my thought process: a Here is my response: b"
    assert parse(text) == Parsed("", text, ())


def test_tags():
    assert parse("<think>a</think><response>b</response>") == Parsed("a", "b", ())


def test_forms_are_not_mixed():
    """A sentence of the one form within the other is a thought."""
    assert parse("<think>Here is my response: a</think>b") == Parsed("Here is my response: a", "b", ())
