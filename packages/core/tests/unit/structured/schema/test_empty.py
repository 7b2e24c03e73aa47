from __future__ import annotations

import pytest

from kernelet.structured.refusal import UnenforcedError
from kernelet.structured.schema.read import read_schema

FOUR = {"type": "integer", "multipleOf": 5, "minimum": 1, "maximum": 4}
CONTRADICTION = {"type": "string", "enum": [1]}


@pytest.mark.parametrize(
    "schema, place",
    [
        (False, ""),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, ""),
        ({"allOf": [True, CONTRADICTION]}, "/allOf/1"),
        ({"type": "object", "properties": {"b": False, "a": CONTRADICTION}, "required": ["a"]}, "/properties/a"),
        ({"type": "object", "properties": {"a/b": False}, "required": ["a/b"]}, "/properties/a~1b"),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "object", "properties": {"b": {"not": {}}}, "required": ["b"]}},
                "required": ["a"],
            },
            "/properties/a/properties/b",
        ),
        ({"type": "object", "additionalProperties": False, "required": ["a"]}, ""),
        ({"type": "array", "minItems": 3, "maxItems": 2}, ""),
        ({"type": "array", "minItems": 3, "items": FOUR}, "/items"),
        ({"type": "array", "minItems": 2, "prefixItems": [True, False]}, "/prefixItems/1"),
        ({"type": "array", "contains": FOUR}, "/contains"),
        ({"type": "array", "contains": {"type": "integer"}, "items": {"type": "string"}}, ""),
        (
            {"properties": {"a": {"$ref": "#/$defs/x"}}, "type": "object", "required": ["a"], "$defs": {"x": FOUR}},
            "/$defs/x",
        ),
        ({"$ref": "https://example.com/", "type": "string", "enum": [1]}, ""),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "array",
                "minItems": 2,
                "items": [True, FOUR],
            },
            "/items/1",
        ),
        ({"anyOf": [CONTRADICTION, False]}, ""),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}, None),
        ({"type": "object", "properties": {"a": False}}, None),
        ({"properties": {"a": False}, "required": ["a"]}, None),
    ],
)
def test_the_innermost_schema_that_is_needed_and_allows_nothing(schema, place):
    graph = read_schema(schema)
    assert graph.empty == place
    assert not graph.nodes[graph.root] or place is None


def test_what_is_refused_is_refused_first():
    with pytest.raises(UnenforcedError):
        read_schema({"type": "object", "properties": {"a": {"$ref": "https://example.com/"}}, "required": ["a"]})
