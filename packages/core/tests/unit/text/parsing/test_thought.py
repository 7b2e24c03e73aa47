from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.parsing import CONTENT, REASONING, Exit, HeaderState, ParserTable, TextState, Turn
from kernelet.text.detokenizer import Span
from kernelet.text.parsing.machine import OutputParser
from kernelet.text.parsing.table import CompiledTable
from kernelet.text.parsing.thought import Thought, held_content

TEXTS = ["<", ">", "think", "/", "</think", "a", "\n", "<think>", "</think>", "\n\n", "> b"]
TOKEN_BYTES = [*(text.encode() for text in TEXTS), "é".encode()[:1], "é".encode()[1:], b"", b""]
OPEN, CLOSE = len(TOKEN_BYTES) - 2, len(TOKEN_BYTES) - 1


def tagged(start=CONTENT):
    """Reasoning between tags."""
    return ParserTable(
        states={
            REASONING: TextState(into=REASONING, skip="\n", exits=(Exit("</think>", CONTENT, before="\n", after="\n"),))
        },
        content_exits=(Exit("<think>", REASONING, at_start=True), Exit("</think>", CONTENT, after="\n")),
        start=start,
    )


def channels():
    """Messages with a header each."""
    exits = (Exit("</think>", CONTENT), Exit("<think>", "header"))
    return ParserTable(
        states={
            "header": HeaderState(
                exits=(Exit(">", CONTENT),), read=lambda text: Turn(REASONING if "a" in text else CONTENT)
            ),
            REASONING: TextState(into=REASONING, exits=exits),
        },
        content_exits=exits,
    )


KINDS = {
    "tags": (tagged(), False),
    "tags, opened": (tagged(REASONING), False),
    "tokens": (tagged(), True),
    "tokens, opened": (tagged(REASONING), True),
    "channels": (channels(), True),
}


def compiled(kind):
    table, are_tokens = KINDS[kind]
    tokens = {"<think>": OPEN, "</think>": CLOSE} if are_tokens else {}
    return CompiledTable(held_content(table), tokens.__contains__), tokens


def facts(thought):
    return thought.thinks, thought.dropped, thought.endings, thought.openings


def thought_of(kind):
    table, tokens = compiled(kind)
    return Thought(table, tokens, TOKEN_BYTES)


IDS = st.lists(st.integers(0, len(TOKEN_BYTES) - 1), max_size=30)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(ids=IDS)
def test_it_thinks_where_the_parser_does(kind, ids):
    thought, (table, tokens) = thought_of(kind), compiled(kind)
    marks = {index: text for text, index in tokens.items()}
    parser = OutputParser(table)
    held = b""
    for token_id in ids:
        thought.push(token_id)
        held += TOKEN_BYTES[token_id]
        if token_id in marks:
            parser.push([Span(held.decode(errors="replace"), ()), Span(marks[token_id], (token_id,), special=True)])
            held = b""
        elif held not in (b"", "é".encode()[:1]):
            parser.push([Span(held.decode(errors="replace"), (token_id,))])
            held = b""
        if not held:
            assert thought.thinks == (parser.in_reasoning or parser.state == "header")
            assert thought.dropped == parser.dropped


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(ids=IDS, times=st.integers(1, 12), data=st.data())
def test_what_is_taken_back_never_came(kind, ids, times, data):
    ids = ids * times
    thought = thought_of(kind)
    for token_id in ids:
        thought.push(token_id)
    back = data.draw(st.integers(0, min(len(ids), 64)))
    fork = thought.fork()
    fork.rollback(back)
    kept = ids[: len(ids) - back]
    expected = thought_of(kind)
    for token_id in kept:
        expected.push(token_id)
    assert facts(fork) == facts(expected)
    for token_id in ids[len(kept) :]:
        fork.push(token_id)
    assert facts(fork) == facts(thought)


def read(table, text):
    parser = OutputParser(CompiledTable(table))
    parser.push([Span(text, (1,))])
    return parser.finish()


def test_content_that_is_held_to_a_form_has_no_markers():
    message = read(held_content(tagged()), "\n<think>x</think>\n{<think>a</think>}")
    assert message.reasoning == "x"
    assert message.content == "{<think>a</think>}"


@pytest.mark.parametrize("start, opening", [(CONTENT, "<think>"), (REASONING, "")])
def test_a_thought_that_has_ended_is_not_opened_again(start, opening):
    message = read(held_content(tagged(start)), f"{opening}x</think>\n<think>y</think>{{}}")
    assert message.reasoning == "x"
    assert message.content == "<think>y</think>{}"


@pytest.mark.parametrize("prompt", ["<think>\n\n</think>\n\n", "</think>"])
def test_a_thought_that_the_prompt_has_ended_is_not_opened_again(prompt):
    message = read(held_content(tagged(), prompt), "<think>y</think>{}")
    assert not message.reasoning
    assert message.content == "<think>y</think>{}"
    assert read(held_content(tagged(), f"{prompt}Hi"), "<think>y</think>{}").reasoning == "y"


def test_channels_go_on_behind_a_thought():
    message = read(held_content(channels(), "<think>b>"), "<think>a>x<think>b>{}")
    assert (message.reasoning, message.content) == ("x", "{}")


def test_reasoning_whose_end_is_content_cannot_be_held():
    table = ParserTable(states={REASONING: TextState(into=REASONING, exits=(Exit("{", CONTENT, keeps=True),))})
    with pytest.raises(ValueError, match="begin of content"):
        held_content(table)


def test_markers_are_told():
    thought = thought_of("tags, opened")
    assert facts(thought) == (True, "", ("</think>",), ("</think>",))
    for text in ("</think", ">"):
        thought.push(TEXTS.index(text))
    assert facts(thought) == (False, "\n", (), ())
    assert facts(thought_of("tags")) == (False, "", ("<think>",), ("<think>",))
