from __future__ import annotations

import pytest
from keyword_checks import refused, same, same_and_opposite

OBJECTS = (
    {},
    {"a": 1},
    {"a": "x"},
    {"b": 1},
    {"a": 1, "b": "x"},
    {"ab": 1},
    {"ab": "x", "c": 1},
    {"a": 1, "b": 1, "c": 1},
    [],
)
NUMBER, TEXT = {"type": "number"}, {"type": "string"}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": NUMBER}},
        {"properties": {"a": NUMBER, "b": False}},
        {"required": ["a"]},
        {"required": ["a", "b"], "properties": {"b": TEXT}},
        {"minProperties": 1},
        {"maxProperties": 0},
        {"properties": {"a": {}}, "additionalProperties": False},
        {"propertyNames": {"enum": ["a", "c"]}},
        {"propertyNames": False},
    ],
)
def test_objects(schema):
    same_and_opposite(schema, *OBJECTS)


@pytest.mark.parametrize(
    "schema",
    [
        {"maxProperties": 1},
        {"patternProperties": {"^a": NUMBER}},
        {"patternProperties": {"^a": False}},
        {"patternProperties": {"a": {}}, "additionalProperties": False},
        {"propertyNames": {"maxLength": 1}},
        {"propertyNames": {"pattern": "^a"}},
        {"patternProperties": {"^a": NUMBER, "b$": TEXT}},
        {"properties": {"a": NUMBER}, "patternProperties": {"b": NUMBER}, "additionalProperties": TEXT},
        {"additionalProperties": NUMBER},
        {"propertyNames": {"anyOf": [{"const": "a"}, {"not": {"pattern": "[abd]"}}]}},
        {"properties": {"a": {}, "b": {}}, "additionalProperties": False, "minProperties": 2},
        {"required": ["a"], "minProperties": 2},
    ],
)
def test_objects_without_opposites(schema):
    same(schema, *OBJECTS)


def test_refused():
    refused({"minProperties": 2}, "/minProperties")
    refused({"not": {"additionalProperties": NUMBER}}, "/not/additionalProperties")
    refused({"propertyNames": {"pattern": "(?=a)"}}, "/propertyNames/pattern")
    refused({"patternProperties": {"(?=a)": {}}}, "/patternProperties/(?=a)")


def test_formats_of_names():
    same({"propertyNames": {"format": "date"}, "minProperties": 1}, {"2020-01-01": 1}, {})
