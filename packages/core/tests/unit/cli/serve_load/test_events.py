from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.cli.serve_load.events import Chunk, Events, chunk_decoder, error_message

STREAM = (
    b': a comment\n\ndata: {"a": 1}\n\ndata:{"b": 2}\r\n\r\nevent: x\nid: 3\ndata: two\ndata: lines\n\n\n\n'
    b"data: [DONE]\n\ndata: cut"
)
FOUND = [b'{"a": 1}', b'{"b": 2}', b"two\nlines", b"[DONE]"]


@given(st.lists(st.integers(0, len(STREAM))))
def test_however_it_is_cut(places):
    events, found = Events(), []
    edges = [0, *sorted(places), len(STREAM)]
    for start, end in itertools.pairwise(edges):
        found += events.feed(STREAM[start:end])
    assert found == FOUND


@pytest.mark.parametrize(
    "data, grew, text",
    [
        (b'{"choices":[{"index":0,"text":"x","finish_reason":null}]}', True, "x"),
        (b'{"choices":[{"index":0,"text":""}]}', False, ""),
        (b'{"choices":[{"delta":{"role":"assistant","content":""}}]}', False, ""),
        (b'{"choices":[{"delta":{"content":"y"}}]}', True, "y"),
        (b'{"choices":[{"delta":{"reasoning_content":"y"}}]}', True, ""),
        (b'{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}', True, ""),
    ],
)
def test_what_is_text(data, grew, text):
    (choice,) = chunk_decoder().decode(data).choices
    assert (choice.grew, choice.new_text) == (grew, text)


def test_usage_and_other_fields():
    chunk = chunk_decoder().decode(b'{"id":"1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"x":{}}}')
    assert isinstance(chunk, Chunk)
    assert (chunk.usage.prompt_tokens, chunk.usage.completion_tokens) == (3, 4)


@pytest.mark.parametrize(
    "body, message",
    [
        (b'{"error": {"message": "no such model", "code": 404}}', "no such model"),
        (b'{"error": "plain"}', "plain"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b"<html>", "<html>"),
        (b"{}", "{}"),
        (b"\xff", "�"),
    ],
)
def test_what_an_error_says(body, message):
    assert error_message(body) == message
