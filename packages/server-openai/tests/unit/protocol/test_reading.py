from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet_server_openai.protocol import reading
from kernelet_server_openai.protocol.base import read_fields, skeleton_of
from kernelet_server_openai.protocol.chat import ChatCompletionRequest
from kernelet_server_openai.protocol.completions import CompletionRequest
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.reading import unknown_field, values
from kernelet_server_openai.protocol.tokens import DetokenizeRequest

MANY = reading.MAX_VALUES + 1
CHAT = b'{"messages":[{"role":"user","content":"x"}],%s}'
BODY = reading.skeleton({"prompt": None, "stop": None, "n": None})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('a",[{\\\n', max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('k"[', max_size=3), inner, max_size=4),
    max_leaves=20,
)


def marks(value):
    """Commas and openings of a value, by walking through it."""
    if isinstance(value, dict | list):
        inside = value.values() if isinstance(value, dict) else value
        return 1 + max(0, len(value) - 1) + sum(map(marks, inside))
    return 0


@given(JSON, st.booleans())
def test_members_are_counted_outside_of_texts(value, ascii_only):
    raw = json.dumps(value, ensure_ascii=ascii_only).encode()
    most = sum(map(raw.count, (b",", b"[", b"{")))
    expected = marks(value)
    assert expected <= reading.members(raw, most) == most
    for limit in range(most):
        assert reading.members(raw, limit) == expected


@given(JSON)
def test_fields_are_what_json_says(value):
    raws = reading.split(BODY, json.dumps({"stop": value, "n": value}, indent=1).encode())
    assert reading.values(raws, frozenset({"prompt"}), 9) == {"stop": value, "n": value}


@given(
    st.lists(st.integers(-9, 10**12)) | st.lists(st.lists(st.integers(0, 9)), min_size=1), st.sampled_from((None, 1))
)
def test_ids_are_what_json_says(value, indent):
    raws = reading.split(BODY, json.dumps({"prompt": value}, indent=indent).encode())
    assert reading.values(raws, frozenset({"prompt"}), 10**6) == {"prompt": value}


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=4), st.integers(1, 6))
def test_ids_are_counted_list_by_list(value, most):
    raw = json.dumps(value).encode()
    if max(map(len, value)) <= most:
        assert reading.texts_or_ids("prompt", raw, most) == value
        return
    with pytest.raises(ApiError, match=f"{most} at most are taken"):
        reading.texts_or_ids("prompt", raw, most)


def repeated(member, times, around=b"[%s]"):
    return around % b",".join([member] * times)


def wrong(kind, body, param, said, monkeypatch):
    """It is refused before anything is made of it."""
    real, made = reading.msgspec.json.decode, []

    def decode(raw, type=None):  # noqa: A002  msgspec's name
        made.append(len(raw) if type is not skeleton_of(kind) else 0)
        return real(raw) if type is None else real(raw, type=type)

    monkeypatch.setattr(reading.msgspec.json, "decode", decode)
    with pytest.raises(ApiError, match=said) as caught:
        read_fields(kind, body)
    assert (caught.value.status, caught.value.param) == (400, param)
    assert len(caught.value.message) < 500
    assert sum(made) < 10_000, made


LARGE = {
    "unknown": (ChatCompletionRequest, CHAT % b",".join(b'"k%d":1' % n for n in range(MANY)), "k0", "nothing takes"),
    "name": (ChatCompletionRequest, CHAT % (b'"' + b"k" * MANY + b'":1'), "k" * 100, "nothing takes"),
    "arguments": (
        ChatCompletionRequest,
        CHAT % (b'"extra_args":' + repeated(b'"k":1', MANY, b"{%s}")),
        "extra_args",
        "at most",
    ),
    "bias": (ChatCompletionRequest, CHAT % (b'"logit_bias":' + repeated(b'"1":1', MANY, b"{%s}")), "logit_bias", "at"),
    "metadata": (ChatCompletionRequest, CHAT % (b'"metadata":' + repeated(b'"1":""', MANY, b"{%s}")), "metadata", "at"),
    "stop": (ChatCompletionRequest, CHAT % (b'"stop":' + repeated(b'"a"', MANY)), "stop", "at most"),
    "bad words": (ChatCompletionRequest, CHAT % (b'"bad_words":' + repeated(b'","', MANY)), "bad_words", "at most"),
    "messages": (ChatCompletionRequest, b'{"messages":%s}' % repeated(b"{}", MANY), "messages", "at most"),
    "variables": (
        ChatCompletionRequest,
        CHAT % (b'"chat_template_kwargs":{"a":%s}' % repeated(b"[]", MANY)),
        "chat_template_kwargs",
        "at most",
    ),
    "a name many times": (ChatCompletionRequest, CHAT % repeated(b'"n":1', 4 * MANY, b"%s"), None, "names and texts"),
    "texts": (CompletionRequest, b'{"prompt":%s}' % repeated(b'"a"', MANY), "prompt", "more than"),
    "prompts": (CompletionRequest, b'{"prompt":%s}' % repeated(b"[1]", MANY), "prompt", "more than"),
    "lists in lists": (CompletionRequest, b'{"prompt":[[%s]]}' % repeated(b"[]", 9), "prompt", "expected a text"),
    "lists among numbers": (CompletionRequest, b'{"prompt":[[],%s1]}' % (b"1," * MANY), "prompt", "expected a text"),
    "a long prompt": (CompletionRequest, b'{"prompt":%s}' % repeated(b"1", 2**20 + 1), "prompt", "1048577 token ids"),
    "allowed": (
        CompletionRequest,
        b'{"prompt":"","allowed_token_ids":%s}' % repeated(b"1", 2**20 + 1),
        "allowed_token_ids",
        "1048577 token ids",
    ),
    "tokens": (DetokenizeRequest, b'{"tokens":%s}' % repeated(b"1", 2**20 + 1), "tokens", "1048577 token ids"),
}


@pytest.mark.parametrize("case", LARGE)
def test_too_much_is_refused_before_it_is_made(case, monkeypatch):
    wrong(*LARGE[case], monkeypatch)


def test_an_object_of_a_schema_has_each_name_once():
    raw = b'{"json": {"type": "integer", "type": "string"}}'
    with pytest.raises(ApiError, match=r'^structured_outputs: an object has the name "type" twice') as caught:
        values({"structured_outputs": raw}, frozenset(), 9)
    assert (caught.value.status, caught.value.param) == (400, "structured_outputs")
    assert values({"tools": b'[{"a": {"b": 1}}, {"a": 2}]'}, frozenset(), 9) == {"tools": [{"a": {"b": 1}}, {"a": 2}]}
    assert values({"messages": b'[{"a": 1, "a": 2}]'}, frozenset(), 9) == {"messages": [{"a": 2}]}


def test_numbers_of_constraints_keep_their_digits():
    raw = b'{"const": 0.30000000000000001, "enum": [123456789012345678901234567890, 0.1]}'
    exact = {"const": Decimal("0.30000000000000001"), "enum": [123456789012345678901234567890, 0.1]}
    for name in ("response_format", "structured_outputs", "text"):
        assert values({name: raw}, frozenset(), 9) == {name: exact}
    assert values({"tools": raw}, frozenset(), 9) == {"tools": exact | {"const": 0.3}}
    with pytest.raises(ApiError, match=r"^response_format: the number 1e-400 is out of range") as caught:
        values({"response_format": b'{"const": 1e-400}'}, frozenset(), 9)
    assert (caught.value.status, caught.value.param) == (400, "response_format")


def test_a_field_of_an_older_name_is_told_the_new_one():
    error = unknown_field("guided_json")
    assert str(error) == "guided_json: nothing takes this field here: it is structured_outputs.json now"
    assert (error.status, error.param) == (400, "guided_json")


def test_two_fields_share_the_limit():
    half = repeated(b"{}", MANY // 2)
    with pytest.raises(ApiError) as caught:
        read_fields(ChatCompletionRequest, b'{"messages":%s,"tools":%s}' % (half, half))
    assert caught.value.param == "tools"


def test_a_text_may_hold_whatever_it_likes():
    text = '[{,"\\' * MANY
    found = read_fields(ChatCompletionRequest, json.dumps({"messages": [{"content": text}]}).encode())
    assert found.messages == [{"content": text}]


def test_a_context_says_how_many_ids_there_may_be():
    body = b'{"tokens":%s}' % repeated(b"1", 2**20 + 1)
    assert len(read_fields(DetokenizeRequest, body, 2**21).tokens) == 2**20 + 1


@pytest.mark.parametrize(
    "body, said",
    [
        (b'{"prompt": 1e999}', "prompt: number out of range"),
        (b'{"prompt": [1, 2.5]}', "prompt: expected `int`, got `float`"),
        (b'{"prompt": [1, true]}', "prompt: expected `int`"),
        (b'{"prompt": [1, {}]}', "prompt: expected `int`"),
        (b'{"prompt": "\xff"}', "no valid JSON"),
        (b'{"prompt": NaN}', "no valid JSON"),
        (b'{"prompt": "a"} x', "no valid JSON"),
        (b'{"prompt": "a",}', "no valid JSON"),
        (b'{"stop":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    ],
)
def test_what_is_no_json_or_no_number(body, said):
    with pytest.raises(ApiError, match=said) as caught:
        read_fields(CompletionRequest, body)
    assert caught.value.status == 400


def test_a_sentence_within_another():
    assert reading.lower("Input is short") == "input is short"
    assert reading.lower("JSON is malformed") == "JSON is malformed"
