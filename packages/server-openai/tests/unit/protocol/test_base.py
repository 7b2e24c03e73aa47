from __future__ import annotations

import json

import pytest

from kernelet_server_openai.protocol.base import Fields, read_fields
from kernelet_server_openai.protocol.chat import ChatCompletionRequest
from kernelet_server_openai.protocol.completions import CompletionRequest
from kernelet_server_openai.protocol.embeddings import EmbeddingRequest
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.responses import ResponsesRequest
from kernelet_server_openai.protocol.tokens import DetokenizeRequest, TokenizeRequest


class Inner(Fields):
    flag: bool | None = None


class Example(Fields):
    number: float
    text: str | list[str] = ""
    inner: Inner | None = None


def refused(body):
    with pytest.raises(ApiError) as caught:
        read_fields(Example, body)
    assert caught.value.status == 400
    return caught.value


def test_values_that_fit():
    found = read_fields(Example, b'{"number": 1, "text": ["a"], "inner": {"flag": true}}')
    assert found == Example(number=1.0, text=["a"], inner=Inner(flag=True))


@pytest.mark.parametrize(
    "body, param",
    [
        (b'{"number": "1"}', "number"),
        (b'{"number": true}', "number"),
        (b'{"number": null}', "number"),
        (b'{"number": 1, "text": 1}', "text"),
        (b'{"number": 1, "text": [1]}', "text"),
        (b'{"number": 1, "inner": {"flag": 1}}', "inner"),
        (b'{"text": "x"}', "number"),
        (b'{"number": 1, "unknown": 1}', "unknown"),
        (b'{"number": 1, "inner": {"other": 1}}', "inner.other"),
        (b'{"number": 1, "text": "\\ud800"}', None),
        (b"", None),
        (b"{", None),
        (b"[]", None),
        (b"1", None),
        (b"null", None),
        (b"\xff", None),
        (b"[" * 100_000, None),
    ],
)
def test_a_wrong_value_is_named(body, param):
    error = refused(body)
    assert error.param == param
    assert len(error.message) < 500
    if param is not None:
        assert error.message.startswith(param.partition(".")[0])


def test_a_field_that_nothing_takes_has_a_code():
    assert refused(b'{"number": 1, "unknown": 1}').code == "unknown_field"


def test_all_forms_of_a_field_are_told():
    message = refused(b'{"number": 1, "text": 5}').message
    assert message == "text: got 5 (int): should be a valid string, or should be a valid array"


@pytest.mark.parametrize(
    "kind", [ChatCompletionRequest, CompletionRequest, EmbeddingRequest, TokenizeRequest, DetokenizeRequest]
)
def test_null_is_what_leaving_a_field_out_is(kind):
    needed = {
        name: {"messages": [{}], "tokens": [1]}.get(name, "x")
        for name, field in kind.model_fields.items()
        if field.is_required()
    }
    others = {name for name in kind.model_fields if name not in needed}
    without = read_fields(kind, json.dumps(needed).encode())
    with_null = read_fields(kind, json.dumps({**needed, **dict.fromkeys(others - {"max_tokens"})}).encode())
    assert with_null == without


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "\x00", "a\x7f", "a\u2028b", "", "x" * 129])
@pytest.mark.parametrize("kind", [ChatCompletionRequest, CompletionRequest, EmbeddingRequest])
def test_a_name_of_a_request_goes_into_logs(kind, value):
    needed = {
        name: {"messages": [{}]}.get(name, "x") for name, field in kind.model_fields.items() if field.is_required()
    }
    with pytest.raises(ApiError) as caught:
        read_fields(kind, json.dumps({**needed, "request_id": value}).encode())
    assert (caught.value.status, caught.value.param) == (400, "request_id")
    assert read_fields(kind, json.dumps({**needed, "request_id": "a b-é"}).encode()).request_id == "a b-é"


@pytest.mark.parametrize(
    "metadata", [{"k" * 65: ""}, {"k": "v" * 513}, dict.fromkeys(map(str, range(17)), ""), {"k": 1}, []]
)
@pytest.mark.parametrize("kind", [ChatCompletionRequest, ResponsesRequest])
def test_metadata_have_the_limits_of_openais_api(kind, metadata):
    needed = {"messages": [{}]} if kind is ChatCompletionRequest else {"input": "x"}
    with pytest.raises(ApiError) as caught:
        read_fields(kind, json.dumps({**needed, "metadata": metadata}).encode())
    assert (caught.value.status, caught.value.param) == (400, "metadata")
    full = {f"{number}".ljust(64): "v" * 512 for number in range(16)}
    assert read_fields(kind, json.dumps({**needed, "metadata": full}).encode()).metadata == full


@pytest.mark.parametrize(
    "kind, fields, said",
    [
        (CompletionRequest, {"prompt": ["a"] * 1025}, "prompt: got 1025 members, 1024 at most are taken"),
        (CompletionRequest, {"prompt": [[1]] * 1025}, "prompt: got 1025 members, 1024 at most are taken"),
        (EmbeddingRequest, {"input": ["a"] * 2049}, "input: got 2049 members, 2048 at most are taken"),
        (
            ChatCompletionRequest,
            {"messages": [{}], "chat_template": "x" * (2**20 + 1)},
            "chat_template: got 1048577 characters, 1048576 at most are taken",
        ),
    ],
)
def test_what_is_too_long_is_told_its_limit(kind, fields, said):
    with pytest.raises(ApiError) as caught:
        read_fields(kind, json.dumps(fields).encode())
    assert caught.value.message == said


@pytest.mark.parametrize(
    "body, said", [({"stream_options": 5}, "should be an object"), ({"tools": 5}, "a valid array")]
)
def test_what_should_be_there_is_said_in_words_of_json(body, said):
    with pytest.raises(ApiError) as caught:
        read_fields(ChatCompletionRequest, json.dumps({"messages": [{}], **body}).encode())
    assert caught.value.message.endswith(said)
