"""Constraints that broke other engines: each is refused or held to, in time, and the next request is served."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest
from structured_engines import NAMES

from kernelet import LLM, SamplingParams
from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.errors import ParameterError, RequestError
from kernelet.testing.null.model import null_config, write_model

REFUSED = (ParameterError, RequestError)
ENGINES = [f"structured-{name}" for name in NAMES]


def nested(kind, depth):
    schema = {"type": "integer"}
    for _ in range(depth):
        schema = {"items": schema, "type": "array"} if kind == "items" else {kind: [schema]}
    return schema


def objects(depth):
    schema = {"type": "integer"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": False}
    return schema


INVALID = (
    {"grammar": 'root ::= "a"\nroot ::= "b"'},
    {"grammar": "root ::= root"},
    {"grammar": 'start: "a'},
    {"regex": "a(b"},
    {"regex": "[a"},
    {"regex": "(?=a)b"},
    {"regex": "(a)\\1"},
    {"regex": "\\bword\\b"},
    {"json": {"type": "object", "properties": {"foo": "bar"}}},
    {"json": {"type": "array", "items": [{"type": "integer"}]}},
    {"json": {"enum": []}},
    {"json": {"type": "strin"}},
    {"json": False},
    {"json": {"$ref": "#/$defs/N", "$defs": {"N": {"$ref": "#/$defs/N"}}}},
    {"json": {"$ref": "https://example.com/schema.json"}},
    {"json": {"type": "string", "pattern": "^(?=a)b$"}},
    {"json": {"type": "array", "maxItems": 18446744073709551615}},
    {"json": nested("items", 500)},
    {"json": nested("anyOf", 1000)},
    {"json": objects(500)},
    {"json": "{"},
    {"choice": []},
    {"regex": "a", "whitespace_pattern": " "},
    {"regex": "a", "backend": "absent"},
)
"""What means nothing, is too large, or is enforced by nobody."""

SCHEMAS = (
    {"not": {"type": "string"}},
    {"type": "array", "uniqueItems": True, "items": {"enum": [7, 8]}},
    {"type": "array", "contains": {"const": 5}, "items": {"enum": [5, 1]}, "maxItems": 3},
    {"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}, "type": "object", "maxProperties": 2},
    {"type": "object", "dependentRequired": {"a": ["b"]}, "properties": {"a": True, "b": True}},
    {"oneOf": [{"type": "integer"}, {"minimum": 2}]},
    {"type": "string", "enum": [1, "a"]},
    {"type": "number", "multipleOf": 0.5},
    {"type": "integer", "multipleOf": 2048},
    {"type": "string", "pattern": "^a+$", "maxLength": 2},
    {"type": "string", "pattern": "^[^\\n\\r]{1,129}$"},
    {"type": "object", "required": ["a"]},
    {"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [{}], "additionalItems": True},
    {"type": "array", "minItems": 1, "maxItems": 2},
    {"type": "string", "pattern": "b", "maxLength": 9},
    {"type": "boolean"},
    {"type": "object"},
)
"""What others accept and do not enforce, or turn around."""

PATTERNS = ("^(.*)$", "^(|.*)$", "[0-9]+", "a|ab", "[à-ÿ]+", "a{0,999}b", "(a|b|ab)*c")


def make(folder, **options):
    plugins = ["core", "kernelet.testing.null:plugin", *ENGINES]
    return LLM(str(folder), plugins=plugins, platform="null", **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model"), null_config(max_model_len=2048))


@pytest.fixture(scope="module")
def llm(folder):
    with make(folder) as llm:
        yield llm


def ask(llm, seed=1, max_tokens=400, min_tokens=0, **constraint):
    held = StructuredOutputsParams(**constraint)
    params = SamplingParams(seed=seed, max_tokens=max_tokens, min_tokens=min_tokens, structured_outputs=held)
    (output,) = llm.generate("p", params, use_tqdm=False)
    return output.outputs[0]


def check_alive(llm, backend=None):
    assert ask(llm, choice=["yes", "nö"], backend=backend).text in {"yes", "nö"}


def check_schema(llm, schema, backend=None):
    try:
        found = ask(llm, json=schema, backend=backend)
    except REFUSED:
        return
    assert found.finish_reason in {"stop", "length"}
    assert (found.structured == "enforced") == (found.finish_reason == "stop")
    assert not re.search(r"[ \t\r\n]{9}", re.sub(r'"(?:[^"\\]|\\.)*"', "", found.text)), "whitespace is bounded"
    if found.structured == "enforced":
        jsonschema.validators.validator_for(schema)(schema).validate(json.loads(found.text))


def check_pattern(llm, pattern, backend=None):
    try:
        found = ask(llm, regex=pattern, backend=backend)
    except REFUSED:
        return
    assert found.structured != "enforced" or re.fullmatch(pattern, found.text)


@pytest.mark.parametrize("constraint", INVALID, ids=lambda one: next(iter(one)))
def test_what_is_refused(llm, constraint):
    with pytest.raises(REFUSED) as raised:
        ask(llm, **constraint)
    assert not re.search(r"\.(py|cc|cpp|rs|h):|0x[0-9a-f]{6}|Traceback", str(raised.value)), "nobody's insides"
    assert len(str(raised.value)) < 2000
    check_alive(llm)


def test_what_is_held_to(llm):
    for schema in SCHEMAS:
        check_schema(llm, schema)
    for pattern in PATTERNS:
        check_pattern(llm, pattern)
    check_alive(llm)


def test_what_must_end_beats_what_must_go_on(llm):
    """``min_tokens`` of more than there is to say."""
    assert ask(llm, json={"type": "boolean"}, min_tokens=10).text in {"true", "false"}
    assert ask(llm, grammar='root ::= "a" | "ab"', min_tokens=2).text == "ab"
    digits = ask(llm, regex="[0-9]+", min_tokens=5).text
    assert re.fullmatch("[0-9]{5,}", digits)


@pytest.mark.long
@pytest.mark.parametrize("backend", NAMES)
def test_every_engine(llm, backend):
    for schema in SCHEMAS:
        check_schema(llm, schema, backend)
    for pattern in PATTERNS:
        check_pattern(llm, pattern, backend)
    for constraint in INVALID:
        with pytest.raises(REFUSED):
            ask(llm, **{"backend": backend, **constraint})
    check_alive(llm, backend)
