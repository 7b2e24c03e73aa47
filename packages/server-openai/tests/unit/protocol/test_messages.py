from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet_server_openai.protocol import messages
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.messages import checked_messages, decoded
from kernelet_server_openai.serving.responses_input import input_messages

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def calling(arguments, **fields):
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}, **fields}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def test_what_the_template_gets():
    asked = [
        {"role": "user", "content": "hi", "name": None},
        {"role": "assistant", "content": "", "tool_calls": None, "reasoning": "hm"},
        calling('{"a": [1]}'),
        {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "3"}], "mine": 1},
    ]
    assert checked_messages(asked) == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "reasoning": "hm"},
        {
            "role": "assistant",
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": [1]}}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "3"}], "mine": 1},
    ]


@given(st.dictionaries(st.text(), JSON, max_size=3))
def test_arguments_are_the_object_that_was_sent(arguments):
    for form in (arguments, json.dumps(arguments), json.dumps(arguments, ensure_ascii=False, indent=1)):
        (message,) = checked_messages([calling(form)])
        assert message["tool_calls"][0]["function"]["arguments"] == arguments


@pytest.mark.parametrize("empty", ["", None, "{}", {}])
def test_a_call_without_arguments(empty):
    assert checked_messages([calling(empty)])[0]["tool_calls"][0]["function"]["arguments"] == {}


OWN = ['{"city": "Par', "null", "[1]", "paris", '"paris"', '"', '"[1]"', "[" * 20_000, '"\\ud800"']


@pytest.mark.parametrize("written", OWN)
def test_what_a_model_wrote_comes_back_as_it_is(written):
    assert checked_messages([calling(written)])[0]["tool_calls"][0]["function"]["arguments"] == written
    item = {"type": "function_call", "name": "f", "call_id": "1", "arguments": written}
    assert input_messages([item])[0]["tool_calls"][0]["function"]["arguments"] == written


def test_arguments_that_were_encoded_twice_are_an_object():
    twice = json.dumps(json.dumps({"city": "Paris"}))
    assert checked_messages([calling(twice)])[0]["tool_calls"][0]["function"]["arguments"] == {"city": "Paris"}


@pytest.mark.parametrize("hides", [lambda many: json.dumps(many), lambda many: many], ids=["twice", "plain"])
def test_a_call_that_was_cut_hides_no_other(hides):
    message = calling('{"a": "cut')
    many = hides("[" + ",".join(["[]"] * 2**16) + "]")
    message["tool_calls"] += calling(many)["tool_calls"]
    with pytest.raises(ApiError, match="32768 members together"):
        checked_messages([message])


def test_a_call_has_what_templates_know():
    (message,) = checked_messages([calling("{}", index=0)])
    assert message["tool_calls"] == [{"id": "1", "type": "function", "function": {"name": "f", "arguments": {}}}]


@pytest.mark.parametrize(
    "message, place",
    [
        ({"content": "x"}, ".role"),
        ({"role": 1, "content": "x"}, ".role"),
        ({"role": "user"}, ".content"),
        ({"role": "assistant", "content": None, "tool_calls": []}, ".content"),
        ({"role": "tool", "tool_call_id": "1"}, ".content"),
        ({"role": "user", "content": 5}, ".content"),
        ({"role": "user", "content": ["x"]}, ".content[0]"),
        ({"role": "user", "content": [{"type": "image_url"}]}, ".content[0].type"),
        ({"role": "user", "content": [{"type": "text", "text": None}]}, ".content[0].text"),
        ({"role": "assistant", "content": "x", "reasoning_content": []}, ".reasoning_content"),
        ({"role": "tool", "content": "x", "tool_call_id": 7}, ".tool_call_id"),
        ({"role": "assistant", "tool_calls": {"a": 1}}, ".tool_calls"),
        ({"role": "assistant", "content": None, "tool_calls": {}}, ".tool_calls"),
        ({**calling("{}"), "role": "user"}, ".tool_calls"),
        ({"role": "tool", "content": "x"}, ".tool_call_id"),
        ({"role": "tool", "content": "x", "tool_call_id": ""}, ".tool_call_id"),
        (calling("{}", function={"name": "", "arguments": "{}"}), ".tool_calls[0].function.name"),
        ({"role": "assistant", "tool_calls": ["x"]}, ".tool_calls[0]"),
        (calling("{}", type="custom"), ".tool_calls[0].type"),
        (calling("{}", id=5), ".tool_calls[0].id"),
        (calling("{}", function="f"), ".tool_calls[0].function"),
        (calling("{}", function={"arguments": "{}"}), ".tool_calls[0].function.name"),
        (calling([1]), ".tool_calls[0].function.arguments"),
    ],
)
def test_wrong_shapes_are_named(message, place):
    with pytest.raises(ApiError) as caught:
        checked_messages([{"role": "user", "content": "hi"}, message])
    assert (caught.value.status, caught.value.param) == (400, f"messages[1]{place}")


@pytest.mark.parametrize("calls", [1, 100])
def test_arguments_are_counted_before_anything_is_made_of_them(calls, monkeypatch):
    monkeypatch.setattr(messages, "decoded", lambda text: pytest.fail(f"read {len(text)} characters"))
    many = '{"a":[' + ",".join(["[]"] * (2**16 // calls)) + "]}"
    message = calling(many)
    message["tool_calls"] *= calls
    with pytest.raises(ApiError, match="32768 members together") as caught:
        checked_messages([message])
    assert caught.value.param == "messages"
    with pytest.raises(ApiError, match="32768 members together"):
        input_messages([{"type": "function_call", "name": "f", "call_id": "1", "arguments": many}] * calls)


def test_marks_inside_of_texts_are_no_members():
    arguments = {"a": ',[{"\\' * 2**16}
    assert checked_messages([calling(json.dumps(arguments))])[0]["tool_calls"][0]["function"]["arguments"] == arguments


@pytest.mark.parametrize("text", ["", "[]", "nan", '{"a": NaN}', '{"a": 1', "{'a': 1}", "\ud800", '"x"'])
def test_what_is_no_object(text):
    assert decoded(text) is None
