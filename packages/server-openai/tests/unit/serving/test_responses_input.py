from __future__ import annotations

import pytest

from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.serving.responses_input import input_messages


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


@pytest.mark.parametrize(
    "item, param, message",
    [
        ({"type": "function_call", "name": "f"}, "input[0].type", "kernelet-parsers-*"),
        ({"type": "item_reference", "id": "x"}, "input[0].type", "give messages of text"),
        ({"type": ["a"], "role": "user"}, "input[0].type", "nothing here takes"),
        ({"role": "tool", "content": "x"}, "input[0].role", "expected user, assistant"),
        ({"content": "x"}, "input[0].role", "None"),
        ({"role": "user", "content": "x", "name": "y"}, "input[0].name", "leave it out"),
        ({"role": "user"}, "input[0].content", "a list of parts"),
        ({"role": "user", "content": ["x"]}, "input[0].content[0]", "input_text"),
        ({"role": "user", "content": [{"type": "input_image"}]}, "input[0].content[0]", "'input_image'"),
        ({"role": "user", "content": [{"type": "input_text", "text": 5}]}, "input[0].content[0].text", "a text"),
    ],
)
def test_what_is_no_message_of_text_is_named(item, param, message):
    with pytest.raises(ApiError) as caught:
        input_messages([item])
    assert (caught.value.status, caught.value.param) == (400, param)
    assert message in caught.value.message
