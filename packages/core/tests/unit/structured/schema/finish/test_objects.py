from __future__ import annotations

import pytest
from keyword_checks import refused, same

OBJECTS = (
    {},
    {"a": 1},
    {"a": "x"},
    {"b": 1},
    {"c": 1},
    {"a": 1, "c": 1},
    {"a": 1, "b": 1},
    {"a": "x", "b": 1, "c": 1},
    {"c": 1, "d": 2},
    3,
)


def shapes(graph):
    return [shape for shape in graph.nodes[0] if hasattr(shape, "properties")]


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {}}, "minProperties": 1},
        {"required": ["a"], "minProperties": 2},
        {"required": ["a"], "maxProperties": 1},
        {"required": ["a", "b"], "maxProperties": 1},
        {"properties": {"a": {"type": "number"}}, "not": {"additionalProperties": False}},
        {"properties": {"a": {}, "b": False}, "not": {"properties": {"a": {}}, "additionalProperties": False}},
        {"propertyNames": {"enum": ["a", "c"]}, "minProperties": 2},
        {"not": {"propertyNames": {"enum": ["a"]}}},
        {"not": {"patternProperties": {"^[ab]$": {"type": "number"}}}},
    ],
)
def test_objects(schema):
    same(schema, *OBJECTS)


def test_a_forbidden_name_is_in_no_class():
    (shape,) = shapes(same({"properties": {"a": False}}, *OBJECTS))
    assert shape.properties == () and len(shape.others) == 1


def test_further_properties_of_one_kind_are_one_class():
    (shape,) = shapes(same({"patternProperties": {"^a": {"type": "number"}, "^b": {"type": "number"}}}, *OBJECTS))
    assert len(shape.others) == 2


def test_the_order_is_that_of_the_schema():
    schema = {"enum": [{"z": 1, "y": 2}], "allOf": [{"required": ["z"], "properties": {"q": {}, "y": {}}}]}
    (shape,) = shapes(same(schema, {"z": 1, "y": 2}, {"z": 1}))
    assert [(each.name, each.required) for each in shape.properties] == [("y", True), ("z", True)]


def test_further_properties_that_nobody_can_tell_apart():
    refused({"minProperties": 2}, "/minProperties")
    refused({"properties": {"a": {}}, "minProperties": 3}, "/minProperties")
    refused({"not": {"patternProperties": {"^a": {}, "b": {"type": "null"}}}}, "/not/patternProperties")
