from __future__ import annotations

import pytest
from keyword_checks import refused, same, same_and_opposite

OBJECTS = (
    {},
    {"a": 1},
    {"a": "x"},
    {"b": 1},
    {"a": 1, "b": 2},
    {"a": 1, "b": 2, "c": 3},
    {"c": 3},
    {"c": "x"},
    {"ax": 1},
    3,
)
ARRAYS = ([], [1], ["a"], [1, "a"], ["a", 1], ["a", "b"], [1, 2, "a"], ["a", 1, None], ["a", "b", "c"], 3)
NUMBER, TEXT = {"type": "number"}, {"type": "string"}
A, B = {"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {}}},
        {"patternProperties": {"^a": {}}},
        {"additionalProperties": NUMBER},
        {"allOf": [A, {"properties": {"b": {}}}]},
        {"anyOf": [A, B]},
        {"anyOf": [A, {"minProperties": 1}]},
        {"oneOf": [A, B]},
        {"not": {"not": {"properties": {"a": {}}}}},
        {"if": A, "then": B, "else": {"properties": {"c": TEXT}}},
        {"if": A},
        {"dependentSchemas": {"a": {"properties": {"a": {}, "b": {}}}}},
        {"$ref": "#/$defs/A", "$defs": {"A": A}},
        {"allOf": [{**A, "unevaluatedProperties": NUMBER}]},
    ],
    ids=str,
)
@pytest.mark.parametrize("inner", [False, NUMBER], ids=["false", "number"])
def test_properties(schema, inner):
    same({"minProperties": 0, **schema, "unevaluatedProperties": inner, "type": "object"}, *OBJECTS)


@pytest.mark.parametrize(
    "schema",
    [
        {"prefixItems": [TEXT]},
        {"items": NUMBER},
        {"allOf": [{"prefixItems": [TEXT]}, {"prefixItems": [{}, NUMBER]}]},
        {"anyOf": [{"prefixItems": [TEXT]}, {"prefixItems": [{}, {}]}]},
        {"oneOf": [{"prefixItems": [TEXT, {}]}, {"prefixItems": [NUMBER]}]},
        {"if": {"prefixItems": [TEXT]}, "then": {"prefixItems": [{}, {}]}},
        {"contains": TEXT},
        {"prefixItems": [{}], "contains": NUMBER},
    ],
    ids=str,
)
@pytest.mark.parametrize("inner", [False, {"type": "null"}], ids=["false", "null"])
def test_items(schema, inner):
    same({**schema, "unevaluatedItems": inner, "type": "array"}, *ARRAYS)


def test_opposites():
    same_and_opposite({"anyOf": [A, B], "unevaluatedProperties": False}, *OBJECTS)
    same_and_opposite({"prefixItems": [TEXT], "unevaluatedItems": NUMBER}, *ARRAYS)


def test_too_many_alternatives_are_refused():
    many = [{"properties": {f"p{index}": {"minimum": index}}} for index in range(12)]
    refused({"anyOf": many, "unevaluatedProperties": False}, "/anyOf")


def test_circles_are_refused():
    refused({"allOf": [{"$ref": "#"}], "unevaluatedProperties": False}, "")
