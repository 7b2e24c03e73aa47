from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from parsed_text import said
from scripted_engine import choice

from kernelet_server_openai.serving.responses_items import message_of, pieces_of

PARTS = st.lists(st.tuples(st.sampled_from(["reasoning", "content", "call"]), st.text(min_size=1, max_size=5)))


@given(PARTS)
def test_items_are_the_message_in_its_order(parts):
    message, runs = said(*parts)
    pieces = pieces_of(message)
    assert [(piece.kind, piece.text(message)) for piece in pieces] == runs
    first = pieces_of(message, only_first=True)
    assert sum(piece.call is not None for piece in first) == min(1, len(message.tool_calls))
    assert [piece.text(message) for piece in first if piece.call is None] == [
        text for kind, text in runs if kind != "tool_call"
    ]


def test_what_is_not_parsed_is_content():
    made = choice("abc", (1, 2))
    (piece,) = pieces_of(message_of(made))
    assert (piece.kind, piece.text(message_of(made)), piece.tokens) == ("content", "abc", range(2))
    assert piece.text(message_of(made), 2) == "c"
