"""Inputs with which parsers of other servers failed, for every parser that is offered."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import NamedTuple

import pytest

from kernelet.contracts.parsing import ParserContext, ParserTable
from kernelet.request.message import ParsedMessage
from kernelet.testing.parsing.feed import Feed
from kernelet.text.detokenizer import Span
from kernelet_parsers_reasoning.plugin import kernelet_reasoning_parsers

TARGETS = sorted({offer.target for offer in kernelet_reasoning_parsers()})


class Marks(NamedTuple):
    """What opens reasoning, what ends it, and which of the marks is the one that closes."""

    opening: str
    end: str
    closing: str


def marks_of(target: str) -> Marks:
    if target.endswith(":openai_gptoss"):
        last = "<|start|>assistant<|channel|>final<|message|>"
        return Marks("<|channel|>analysis<|message|>", f"<|end|>{last}", "<|end|>")
    pairs = {"mistral": ("[THINK]", "[/THINK]"), "seed_oss": ("<seed:think>", "</seed:think>")}
    pairs["hy_v3"] = ("<think:opensource>", "</think:opensource>")
    opening, closing = pairs.get(target.rpartition(":")[2], ("<think>", "</think>"))
    return Marks(opening, closing, closing)


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def marks(target: str) -> Marks:
    return marks_of(target)


@pytest.fixture(params=["text", "tokens"])
def feed(target: str, marks: Marks, request: pytest.FixtureRequest) -> Callable[[str], Feed]:
    """By the prompt; marks are text, or tokens."""
    make: Callable[[ParserContext], ParserTable] = resolve_name(target)
    harmony = ("<|channel|>", "<|message|>", "<|start|>", "<|end|>")
    known = harmony if "channel" in marks.opening else (marks.opening, marks.closing)
    tokens = known if request.param == "tokens" else ()
    return lambda prompt: Feed(make(ParserContext(prompt=prompt, parses_reasoning=True)), tokens=tokens)


def both(message: ParsedMessage) -> tuple[str, str]:
    return message.reasoning, message.content


def pushed(feed: Feed, *pieces: list[Span]) -> ParsedMessage:
    parser = feed.parser()
    for spans in pieces:
        parser.push(spans)
    return parser.finish()


def opened(marks: Marks) -> tuple[str, str]:
    """The end of a prompt that opens reasoning, and how the answer begins behind it."""
    return ("<|start|>assistant", marks.opening) if "channel" in marks.opening else (f"Hi{marks.opening}", "")


def test_a_tag_in_one_piece_with_what_follows(feed: Callable[[str], Feed], marks: Marks):
    assert both(feed("Hi").message(f"{marks.opening}step one", cut=True)) == ("step one", "")


def test_five_characters_at_a_time(feed: Callable[[str], Feed], marks: Marks):
    prompt, begin = opened(marks)
    text = f"{begin}weighing it{marks.end}Answer."
    assert both(feed(prompt).message(text, range(0, len(text), 5))) == ("weighing it", "Answer.")


def test_a_piece_with_the_rest_of_reasoning_and_the_begin_of_the_answer(feed: Callable[[str], Feed], marks: Marks):
    prompt, begin = opened(marks)
    text = f"{begin}weighing it{marks.end}Answer."
    assert both(feed(prompt).message(text, [len(begin) + 5, len(text) - 4])) == ("weighing it", "Answer.")


def test_a_second_end_of_reasoning(feed: Callable[[str], Feed], marks: Marks):
    text = f"{marks.opening}a{marks.end}b{marks.closing}c"
    assert both(feed("Hi").message(text, range(len(text)))) == ("a", "bc")


def test_all_of_an_answer_in_one_piece(feed: Callable[[str], Feed], marks: Marks):
    found = feed("Hi")
    spans = found.spans(f"{marks.opening}a{marks.end}b")
    assert both(pushed(found, spans)) == ("a", "b")


def test_the_id_of_the_end_comes_while_text_before_it_was_held_back(feed: Callable[[str], Feed], marks: Marks):
    """As a buffer of stop strings does: ids without text, then the text of all of them at once."""
    prompt, begin = opened(marks)
    found = feed(prompt)
    late = [Span("ing it", (5, 6)), *found.spans(f"{marks.end}Answer.")]
    message = pushed(found, found.spans(f"{begin}weigh"), [Span("", (3,)), Span("", (4,))], late)
    assert both(message) == ("weighing it", "Answer.")


def test_an_end_of_which_only_a_part_ever_comes(feed: Callable[[str], Feed], marks: Marks):
    prompt, begin = opened(marks)
    text = f"{begin}so {marks.closing[:-1]}"
    assert both(feed(prompt).message(text, range(len(text)))) == (f"so {marks.closing[:-1]}", "")
