from __future__ import annotations

import openai
import pydantic
import pytest

from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet_server_openai.protocol.completions import CompletionRequest
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.responses import ResponsesRequest
from kernelet_server_openai.protocol.structured import (
    StructuredFields,
    check_one_form,
    format_params,
    structured_params,
    text_format_params,
)

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
JSON = StructuredOutputsParams(json=SCHEMA)


class Answer(pydantic.BaseModel):
    a: int


@pytest.mark.parametrize(
    "given, expected",
    [
        (None, None),
        ({"type": "text"}, None),
        ({"type": "json_object"}, StructuredOutputsParams(json_object=True)),
        ({"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}, JSON),
        ({"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": None}}, JSON),
        ({"type": "json_schema", "json_schema": {"name": "x", "schema": True}}, StructuredOutputsParams(json=True)),
    ],
)
def test_formats(given, expected):
    assert format_params(given, "response_format") == expected
    assert StructuredFields(response_format=given).structured() == expected


def test_structural_tags_are_handed_on():
    tag = {"type": "structural_tag", "format": {"type": "any_text"}}
    assert format_params(tag, "response_format") == StructuredOutputsParams(structural_tag=tag)


def test_what_the_official_client_makes_of_a_class():
    form = openai.lib._parsing._completions.type_to_response_format_param(Answer)
    found = format_params(form, "response_format")
    assert found.json["properties"]["a"]["type"] == "integer"
    assert found.json["additionalProperties"] is False


@pytest.mark.parametrize(
    "given, param",
    [
        ({}, "response_format.type"),
        ("json_object", "response_format"),
        ({"type": "json"}, "response_format.type"),
        ({"type": "json_object", "schema": SCHEMA}, "response_format.schema"),
        ({"type": "json_schema"}, "response_format.json_schema"),
        ({"type": "json_schema", "json_schema": {"schema": SCHEMA}}, "response_format.json_schema.name"),
        ({"type": "json_schema", "json_schema": {"name": "a b", "schema": SCHEMA}}, "response_format.json_schema.name"),
        ({"type": "json_schema", "json_schema": {"name": "", "schema": SCHEMA}}, "response_format.json_schema.name"),
        (
            {"type": "json_schema", "json_schema": {"name": "x" * 65, "schema": SCHEMA}},
            "response_format.json_schema.name",
        ),
        ({"type": "json_schema", "json_schema": {"name": "x"}}, "response_format.json_schema.schema"),
        ({"type": "json_schema", "json_schema": {"name": "x", "schema": "{}"}}, "response_format.json_schema.schema"),
        (
            {"type": "json_schema", "json_schema": {"name": "x", "schema": {}, "strict": 1}},
            "response_format.json_schema.strict",
        ),
        (
            {"type": "json_schema", "json_schema": {"name": "x", "schema": {}, "more": 1}},
            "response_format.json_schema.more",
        ),
    ],
)
def test_wrong_formats(given, param):
    with pytest.raises(ApiError) as caught:
        format_params(given, "response_format")
    assert (caught.value.status, caught.value.param) == (400, param)


@pytest.mark.parametrize(
    "given, expected",
    [
        (None, None),
        ({"regex": "a+"}, StructuredOutputsParams(regex="a+")),
        ({"choice": ["a", "b"]}, StructuredOutputsParams(choice=("a", "b"))),
        ({"json": SCHEMA, "backend": "x"}, StructuredOutputsParams(json=SCHEMA, backend="x")),
    ],
)
def test_the_names_of_vllm(given, expected):
    assert structured_params(given) == expected


@pytest.mark.parametrize(
    "given, says",
    [
        ("a+", "structured_outputs"),
        ({}, "exactly one of"),
        ({"guided_regex": "a"}, "'guided_regex' .str. is no option; there are json"),
        ({"regex": "a", "choice": ["b"]}, "exactly one of"),
        ({"regex": "a", "whitespace_pattern": " *"}, "whitespace_pattern is not supported"),
        ({"choice": []}, "an empty list"),
    ],
)
def test_wrong_names_and_values(given, says):
    with pytest.raises(ApiError, match=says) as caught:
        structured_params(given)
    assert (caught.value.status, caught.value.param) == (400, "structured_outputs")


def test_one_of_the_two_fields():
    both = CompletionRequest(prompt="a", response_format={"type": "json_object"}, structured_outputs={"regex": "a"})
    with pytest.raises(ApiError, match="response_format says another form"):
        both.structured()
    assert CompletionRequest(prompt="a", structured_outputs={"regex": "a"}).structured_field == "structured_outputs"
    assert CompletionRequest(prompt="a", response_format={"type": "json_object"}).structured_field == "response_format"


def test_the_form_of_responses():
    form = {"type": "json_schema", "name": "x", "schema": SCHEMA, "strict": True}
    assert text_format_params(form) == JSON
    request = ResponsesRequest(input="a", text={"format": form})
    assert request.sampling_params().structured_outputs == JSON
    assert request.text_format == form
    assert request.names["structured_outputs"] == "text.format"
    assert ResponsesRequest(input="a").text_format == {"type": "text"}
    assert ResponsesRequest(input="a", tool_choice="required").names["structured_outputs"] == "tool_choice"
    assert ResponsesRequest(input="a").names["structured_outputs"] == "tools"
    with pytest.raises(ApiError, match="this is chat's form"):
        text_format_params({"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}})


def test_a_call_and_a_form():
    check_one_form(JSON, calls=False)
    check_one_form(None, calls=True)
    with pytest.raises(ApiError, match="leave one out"):
        check_one_form(JSON, calls=True)
