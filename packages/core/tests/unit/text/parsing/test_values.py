from __future__ import annotations

import ast
import json
import math

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kernelet.text.parsing.values import (
    as_json,
    declared_types,
    is_text_only,
    json_value,
    python_value,
    read_value,
    refuse,
)

NAMES = ("object", "array", "integer", "number", "boolean", "null", "string")
VALIDATOR = jsonschema.Draft202012Validator
STRINGS = st.text(max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | STRINGS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3))


def same(one, other):
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def written(value):
    """As templates write parameters."""
    return value if isinstance(value, str) else json.dumps(value)


@st.composite
def schemas(draw):
    kinds = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    form = draw(st.sampled_from(["type", "list", "anyOf", "oneOf", "$ref", "none"]))
    if form == "type":
        return {"type": kinds[0]}, {}
    if form == "list":
        return {"type": kinds}, {}
    if form == "$ref":
        return {"$ref": "#/$defs/a~1b"}, {"$defs": {"a/b": {"anyOf": [{"type": kind} for kind in kinds]}}}
    return ({form: [{"type": kind} for kind in kinds]}, {}) if form != "none" else ({"description": "x"}, {})


@settings(max_examples=60)
@given(schemas(), VALUES)
def test_a_value_that_its_schema_accepts_comes_back(schema, value):
    schema, root = schema
    assume(VALIDATOR({**root, **schema}).is_valid(value))
    types = declared_types(schema, root)
    text = written(value)
    if isinstance(value, str):  # no text can tell it from a value of another type that the schema allows
        assume(all(read_value(text, {"type": kind}, {}) == as_json(text) for kind in types if kind != "string"))
    assert same(json.loads(read_value(text, schema, root)), value)


@given(st.sampled_from(NAMES), st.text('0123456789-+.eE"{}[]trufalsnNone, \n', max_size=12))
def test_what_comes_out_is_of_its_type_or_the_text_itself(kind, text):
    value = json.loads(read_value(text, {"type": kind}, {}))
    assert value == text or VALIDATOR({"type": kind}).is_valid(value)


@pytest.mark.parametrize(
    "text, schema, value",
    [
        ("2026-01-15", {"type": "integer"}, '"2026-01-15"'),
        ("5", {"type": "string"}, '"5"'),
        (" 5\n", {"type": "integer"}, "5"),
        ("007", {"type": "integer"}, '"007"'),
        ("1e3", {"type": "integer"}, "1e3"),
        ("-0.0", {"type": "integer"}, "-0.0"),
        ("1.5", {"type": "integer"}, '"1.5"'),
        ("1e-3", {"type": "integer"}, '"1e-3"'),
        ("1e400", {"type": "number"}, "1e400"),
        ("NaN", {"type": "number"}, '"NaN"'),
        ("[NaN]", {"type": "array"}, '"[NaN]"'),
        ("[1e400]", {"type": "array"}, "[1e400]"),
        ("None", {"type": ["integer", "null"]}, "null"),
        ("None", {"type": "integer", "nullable": True}, '"None"'),
        ("True", {"type": "boolean"}, "true"),
        ("yes", {"type": "boolean"}, '"yes"'),
        ("{'a': None}", {"type": "object"}, '{"a": null}'),
        ("{'a': {1, 2}}", {"type": "object"}, "\"{'a': {1, 2}}\""),
        ('["a\nb"]', {"type": "array"}, '["a\\nb"]'),
        ('["\\ud800"]', {"type": "array"}, '["\\ud800"]'),
        ("['\\ud800']", {"type": "array"}, '["\\ud800"]'),
        ("x", {"enum": ["x", 1, None]}, '"x"'),
        ("1", {"enum": ["x", 1, None]}, "1"),
        ("1", {"const": 1}, "1"),
        ("true", {"const": True}, "true"),
        ("1", {}, "1"),
        ("a", {}, '"a"'),
        ("1", {"$ref": "#/nowhere"}, "1"),
    ],
)
def test_examples(text, schema, value):
    assert read_value(text, schema, {}) == value


def test_declared_types_keep_their_order():
    assert declared_types({"type": ["null", "string"]}, {}) == ("null", "string")
    assert declared_types({"allOf": [{"type": "integer"}, {"type": "integer"}, {"type": "null"}]}, {}) == (
        "integer",
        "null",
    )
    assert declared_types({"anyOf": [True]}, {}) == NAMES
    assert is_text_only({"anyOf": [{"type": "string"}, {"enum": ["a"]}]}, {})
    assert not is_text_only({}, {})


def test_schemas_that_refer_to_themselves():
    """A client writes them: a reference is followed once, and what is nested too deep may be anything."""
    for count, types in ((6, ("null",)), (300, NAMES)):
        names = [f"s{number}" for number in range(count)]
        branches = {name: {"anyOf": [{"$ref": f"#/{other}"} for other in names] + [{"type": "null"}]} for name in names}
        assert declared_types({"$ref": "#/s0"}, branches) == types
    assert declared_types({"$ref": "#/a"}, {"a": {"$ref": "#/a"}}) == NAMES
    deep = {"type": "integer"}
    for _ in range(500):
        deep = {"anyOf": [deep]}
    assert declared_types(deep, {}) == NAMES


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "-" * 100_000 + "1", "[" * 200 + "]" * 200, '{"a":' * 5000, "\0", "9" * 5000]
)
def test_deep_and_long_values_are_values_or_text(text):
    value = json.loads(read_value(text, {"type": ["array", "object"]}, {}))
    assert value == text or isinstance(value, list)


@given(VALUES)
def test_json_is_passed_on_as_it_is(value):
    text = json.dumps(value, indent=1)
    assert json_value(text) == text
    assert json_value("") is None


@given(VALUES)
def test_python_literals(value):
    text = repr(value)
    assume(not isinstance(value, float) or math.isfinite(value))
    assert same(json.loads(python_value(text)), ast.literal_eval(text))


def test_what_python_says_and_json_cannot():
    for text in ("{1, 2}", "b'x'", "1j", "f(x)", "1e999", "", "...", "{(1, 2): 3}"):
        assert python_value(text) is None
    with pytest.raises(ValueError, match="NaN"):
        refuse("NaN")


def test_half_a_pair_is_escaped():
    assert as_json("a\ud800é") == '"a\\ud800\\u00e9"'
    assert as_json("aé") == '"aé"'
