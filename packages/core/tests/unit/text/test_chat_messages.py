from __future__ import annotations

from enum import IntEnum, StrEnum
from types import MappingProxyType

import pytest

from kernelet.errors import ChatTemplateError
from kernelet.text.chat_messages import join_text_parts, plain, plain_list_of_objects, plain_messages


class Role(StrEnum):
    USER = "user"


class Number(IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    "messages, problem",
    [
        ("hello", "messages should be a list of messages, not str"),
        ({"role": "user"}, "not dict"),
        (None, "not NoneType"),
        ([], "messages is empty"),
        (["hello"], r"messages\[0\] should be an object with role and content, not str"),
        ([{"content": "x"}], r"messages\[0\]\.role should be a string such as 'user', not None"),
        ([{"role": "", "content": "x"}], r"messages\[0\]\.role"),
        ([{"role": 3, "content": "x"}], "not 3"),
        ([{"role": "user"}], r"messages\[0\] has no content"),
        ([{"role": "user", "content": None}], "has no content"),
        (
            [{"role": "user", "content": 3}],
            r"messages\[0\]\.content should be a string or a list of text parts, not int",
        ),
        (
            [{"role": "user", "content": "x"}, {"role": "user", "content": ["y"]}],
            r"messages\[1\]\.content\[0\] should be an object",
        ),
        ([{"role": "user", "content": [{"text": "x"}]}], r"content\[0\] should be an object such as"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], "takes parts of type 'text'"),
        (
            [{"role": "user", "content": [{"type": "text", "text": 3}]}],
            r"content\[0\]\.text should be a string, not int",
        ),
        ([{"role": "user", "content": "x", "f": {"a": [object()]}}], r"messages\[0\]\.f\.a\[0\] is a object"),
    ],
)
def test_wrong_shape(messages, problem):
    with pytest.raises(ChatTemplateError, match=problem):
        plain_messages(messages)


def test_messages_are_new_plain_and_without_none():
    call = {"type": "function", "function": {"name": "f", "arguments": {"x": (1, 2.5, True, None)}}}
    given = [
        MappingProxyType({"role": Role.USER, "content": "x", "name": None}),
        {"role": "assistant", "tool_calls": [call]},
    ]
    made = plain_messages(given)
    assert made[0] == {"role": "user", "content": "x"}
    assert type(made[0]["role"]) is str
    assert made[1]["tool_calls"][0]["function"]["arguments"] == {"x": [1, 2.5, True, None]}
    made[1]["tool_calls"].clear()
    assert given[1]["tool_calls"]


@pytest.mark.parametrize("given", [{}, {"content": None}, {"content": None, "tool_calls": [{}]}, {"content": ""}])
def test_an_assistant_without_words_says_the_empty_text(given):
    (made,) = plain_messages([{"role": "assistant", **given}])
    assert made == {"role": "assistant", **given, "content": ""}


@pytest.mark.parametrize("name", ["reasoning_content", "thinking", "reasoning"])
def test_reasoning_is_found_under_its_usual_names(name):
    [made] = plain_messages([{"role": "assistant", "content": "x", name: "because"}])
    assert made["reasoning_content"] == made["thinking"] == "because"


@pytest.mark.parametrize(
    "value, kind", [(Role.USER, str), (Number.ONE, int), (True, bool), (None, type(None)), (0.5, float)]
)
def test_scalars_become_plain(value, kind):
    made = plain(value, "x")
    assert made == value
    assert type(made) is kind


@pytest.mark.parametrize("name", ["tools", "documents"])
def test_lists_of_objects(name):
    assert plain_list_of_objects(None, name) is None
    assert plain_list_of_objects([{"a": 1}], name) == [{"a": 1}]
    for value, problem in (
        ("x", "not str"),
        ({"a": 1}, "not dict"),
        ([len], rf"{name}\[0\] should be a JSON object, not builtin"),
    ):
        with pytest.raises(ChatTemplateError, match=problem):
            plain_list_of_objects(value, name)


def test_parts_are_joined_by_lines():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages = [{"role": "user", "content": parts}, {"role": "tool", "content": "c"}, {"role": "assistant"}]
    assert [message.get("content") for message in join_text_parts(messages)] == ["a\nb", "c", None]
