from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parsed_text import said

from kernelet_server_openai.protocol.chat import ChatCompletionRequest
from kernelet_server_openai.serving.chat_message import MessageCursor, chat_message

PARTS = st.lists(st.tuples(st.sampled_from(["reasoning", "content", "call"]), st.text(min_size=1, max_size=4)))


def request(**fields):
    return ChatCompletionRequest(messages=[{"role": "user", "content": "x"}], **fields)


def call(name, arguments):
    return {"id": name, "type": "function", "function": {"name": "f", "arguments": arguments}}


@pytest.mark.parametrize(
    "parts, expected",
    [
        ([("content", "a")], {"content": "a", "reasoning": None, "reasoning_content": None}),
        ([("reasoning", "hm")], {"content": "", "reasoning": "hm", "reasoning_content": "hm"}),
        (
            [("call", "{}"), ("call", "[")],
            {
                "content": None,
                "reasoning": None,
                "reasoning_content": None,
                "tool_calls": [call("id0", "{}"), call("id1", "[")],
            },
        ),
        (
            [("call", "{}"), ("content", "b")],
            {"content": "b", "reasoning": None, "reasoning_content": None, "tool_calls": [call("id0", "{}")]},
        ),
    ],
)
def test_a_message(parts, expected):
    assert chat_message(request(), said(*parts)[0], "") == {"role": "assistant", "refusal": None, **expected}


def test_what_a_request_leaves_out():
    message, _ = said(("reasoning", "hm"), ("call", "{}"), ("call", "{}"))
    found = chat_message(request(include_reasoning=False, parallel_tool_calls=False), message, "so: ")
    assert found == {"role": "assistant", "content": "so: ", "refusal": None, "tool_calls": [call("id0", "{}")]}


def joined(deltas):
    """What a client makes of deltas, as OpenAI's API describes them."""
    found = {"content": None, "reasoning": None, "tool_calls": {}}
    for delta in deltas:
        assert len(delta.get("tool_calls", [])) <= 1
        for name in ("content", "reasoning"):
            if name in delta:
                found[name] = (found[name] or "") + delta[name]
        for one in delta.get("tool_calls", []):
            if "id" in one:
                assert one["index"] == len(found["tool_calls"])
                assert one["function"]["arguments"] == ""
                found["tool_calls"][one["index"]] = call(one["id"], "")
            found["tool_calls"][one["index"]]["function"]["arguments"] += one["function"]["arguments"]
        assert delta.get("reasoning") == delta.get("reasoning_content")
    return found


@given(PARTS, st.booleans(), st.booleans())
def test_deltas_add_up_to_the_message(parts, reasoning, parallel):
    asked = request(include_reasoning=reasoning, parallel_tool_calls=parallel, tools=[{}])
    cursor, deltas = MessageCursor(asked, ""), []
    for number, (kind, text) in enumerate(parts):
        for end in (len(text) // 2, len(text)):
            deltas += cursor.advance(said(*parts[:number], (kind, text[:end]))[0], finished=False)
    message, _ = said(*parts)
    assert all(deltas)
    deltas += cursor.advance(message, finished=True)
    whole, found = chat_message(asked, message, ""), joined(deltas)
    assert found["content"] == whole["content"]
    assert found["reasoning"] == whole.get("reasoning")
    assert list(found["tool_calls"].values()) == whole.get("tool_calls", [])
