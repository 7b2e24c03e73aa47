from __future__ import annotations

import json

import pytest

from kernelet_server_openai.protocol.base import Fields, read_fields
from kernelet_server_openai.protocol.chat import ChatCompletionRequest
from kernelet_server_openai.protocol.completions import CompletionRequest
from kernelet_server_openai.protocol.embeddings import EmbeddingRequest
from kernelet_server_openai.protocol.errors import ApiError
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
