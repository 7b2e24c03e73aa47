from __future__ import annotations

import pytest
from parsed_text import said

from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.serving.responses_input import answered, input_messages


def test_a_text_is_the_users():
    assert input_messages("hi") == [{"role": "user", "content": "hi"}]


def test_items():
    items = [
        {"role": "developer", "content": "be brief"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": t} for t in "ab"]},
        {
            "type": "message",
            "role": "assistant",
            "id": "m",
            "status": "completed",
            "content": [{"type": "output_text", "text": "c", "annotations": [], "logprobs": []}],
        },
    ]
    assert input_messages(items) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "a\nb"},
        {"role": "assistant", "content": "c"},
    ]


def call(name, arguments="{}"):
    return {"type": "function_call", "call_id": name, "name": "f", "arguments": arguments, "id": "fc", "status": None}


def called(name, **arguments):
    return {"id": name, "type": "function", "function": {"name": "f", "arguments": arguments}}


def thought(text):
    return {"type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": text}]}


def test_a_turn_of_the_assistant_is_one_message():
    items = [
        {"role": "user", "content": "hi"},
        thought("hm"),
        {"role": "assistant", "content": "I look."},
        call("1", '{"a": 1}'),
        call("2"),
        {"type": "function_call_output", "call_id": "1", "output": "one"},
        {"type": "function_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "two"}]},
        thought("so"),
        thought("well"),
        {"role": "assistant", "content": "There."},
        {"role": "assistant", "content": "More."},
    ]
    assert input_messages(items) == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "reasoning": "hm", "content": "I look.", "tool_calls": [called("1", a=1), called("2")]},
        {"role": "tool", "tool_call_id": "1", "content": "one"},
        {"role": "tool", "tool_call_id": "2", "content": "two"},
        {"role": "assistant", "reasoning": "so\nwell", "content": "There."},
        {"role": "assistant", "content": "More."},
    ]


def test_text_behind_a_call_stays_with_it():
    items = [{"role": "assistant", "content": "a"}, call("1"), {"role": "assistant", "content": "b"}, call("2")]
    assert input_messages(items) == [
        {"role": "assistant", "content": "ab", "tool_calls": [called("1"), called("2")]},
    ]


def test_reasoning_that_is_not_told():
    summary = [{"type": "summary_text", "text": "in short"}]
    assert input_messages([{"type": "reasoning", "id": "rs", "summary": summary, "encrypted_content": None}]) == [
        {"role": "assistant", "reasoning": "in short"}
    ]
    assert input_messages([{"type": "reasoning", "id": "rs", "summary": []}, {"role": "user", "content": "x"}]) == [
        {"role": "user", "content": "x"}
    ]


def test_what_was_answered_is_the_next_turns():
    message, _ = said(("reasoning", "hm"), ("content", "a"), ("call", '{"a": 1}'), ("call", "{"))
    first = {"id": "id0", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
    assert answered(message, only_first=False) == {
        "role": "assistant",
        "content": "a",
        "reasoning": "hm",
        "tool_calls": [first, {"id": "id1", "type": "function", "function": {"name": "f", "arguments": "{"}}],
    }
    assert answered(message, only_first=True)["tool_calls"] == [first]
    assert answered(said(("content", "a"))[0], only_first=False) == {"role": "assistant", "content": "a"}


@pytest.mark.parametrize(
    "item, param, message",
    [
        ({"type": "item_reference", "id": "x"}, "input[0].type", "give message, function_call"),
        ({"type": "function_call", "call_id": "1", "arguments": "{}"}, "input[0].name", "a text"),
        ({"type": "function_call", "name": "f", "arguments": "{}"}, "input[0].call_id", "a text"),
        ({"type": "function_call", "call_id": "1", "name": "f", "arguments": [1]}, "input[0].arguments", "an object"),
        ({"type": "function_call", "call_id": "1", "name": " ", "arguments": "{}"}, "input[0].name", "was called"),
        ({"type": "function_call", "call_id": "1", "name": "f", "x": 1}, "input[0].x", "leave it out"),
        ({"type": "function_call_output", "output": "x"}, "input[0].call_id", "a text"),
        ({"type": "function_call_output", "call_id": "1"}, "input[0].output", "a list of parts"),
        ({"type": "reasoning", "encrypted_content": "x"}, "input[0].encrypted_content", "leave it out"),
        ({"type": "reasoning", "content": [{"type": "text", "text": "x"}]}, "input[0].content[0]", "reasoning_text"),
        ({"type": ["a"], "role": "user"}, "input[0].type", "nothing here takes"),
        ({"role": "tool", "content": "x"}, "input[0].role", "expected user, assistant"),
        ({"content": "x"}, "input[0].role", "None"),
        ({"role": "user", "content": "x", "name": "y"}, "input[0].name", "leave it out"),
        ({"role": "user"}, "input[0].content", "a list of parts"),
        ({"role": "user", "content": ["x"]}, "input[0].content[0]", "an object"),
        ({"role": "user", "content": [{"type": "input_image"}]}, "input[0].content[0]", "'input_image'"),
        ({"role": "user", "content": [{"type": "input_text", "text": 5}]}, "input[0].content[0].text", "a text"),
    ],
)
def test_what_is_no_message_of_text_is_named(item, param, message):
    with pytest.raises(ApiError) as caught:
        input_messages([item])
    assert (caught.value.status, caught.value.param) == (400, param)
    assert message in caught.value.message
