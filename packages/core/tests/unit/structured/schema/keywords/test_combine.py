from __future__ import annotations

import pytest
from keyword_checks import refused, same, same_and_opposite

from kernelet.structured.schema.dialects import Dialect

VALUES = (
    None,
    True,
    0,
    1,
    2,
    2.5,
    4,
    "",
    "a",
    "abc",
    [],
    [1],
    {},
    {"a": 1},
    {"b": "x"},
    {"a": 1, "b": "x"},
    {"a": "x", "c": 1},
)
NUMBER, TEXT = {"type": "number"}, {"type": "string"}


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"minimum": 1}, {"maximum": 2}, {"minLength": 1}]},
        {"anyOf": [{"type": "integer"}, {"minimum": 3}]},
        {"anyOf": [NUMBER, {"required": ["a"]}]},
        {"oneOf": [{"type": "integer"}, {"minimum": 2}]},
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"oneOf": [TEXT, NUMBER, TEXT]},
        {"not": {"anyOf": [TEXT, {"multipleOf": 2}]}},
        {"if": NUMBER, "then": {"minimum": 2}, "else": {"minLength": 1}},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
        {"if": {"properties": {"a": NUMBER}, "required": ["a"]}, "else": TEXT},
        {"then": {"type": "null"}, "else": TEXT, "minimum": 2},
        {"dependentRequired": {"a": ["b"]}},
        {"dependentRequired": {"a": [], "b": ["a", "c"]}},
        {"dependentSchemas": {"a": {"properties": {"b": NUMBER}}, "c": {"maxProperties": 1}}},
        {"$defs": {"n": {"minimum": 2}}, "$ref": "#/$defs/n", "type": "number"},
        {"$defs": {"n": {"$anchor": "n", "minimum": 2}}, "$dynamicRef": "#n"},
    ],
)
def test_combinations(schema):
    same(schema, *VALUES)
    if "$defs" not in schema:
        same_and_opposite(schema, *VALUES)


@pytest.mark.parametrize(
    "schema",
    [
        {"dependencies": {"a": ["b"], "b": {"minProperties": 1}}},
        {"dependencies": {"a": False}},
        {"definitions": {"n": {"minimum": 2}}, "$ref": "#/definitions/n", "type": "string"},
    ],
)
def test_draft_7(schema):
    same(schema, *VALUES, dialect=Dialect.DRAFT_7)


def test_disjoint_alternatives_need_no_opposite():
    """That of a format is refused."""
    closed = {"type": "object", "additionalProperties": False, "required": ["kind"]}
    alternatives = [
        {**closed, "properties": {"kind": {"const": kind}, kind: {"type": "string", "format": "date"}}} for kind in "xy"
    ]
    same(
        {"oneOf": alternatives},
        {"kind": "x"},
        {"kind": "y", "y": "2020-02-02"},
        {"kind": "z"},
        {"kind": "x", "y": "2020-02-02"},
    )
    refused({"oneOf": [{"format": "date"}, {"format": "time"}]}, "/oneOf/0/format", "/oneOf/1/format")


def test_circles_without_progress_are_refused():
    refused(
        {
            "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}},
            "$ref": "#/$defs/a",
        },
        "/$defs/a",
    )
