from __future__ import annotations

import pytest

from kernelet.structured.schema.places import endless, most_repeated
from kernelet.structured.schema.read import read_schema

TEXT = {"type": "string"}


def closed(**properties):
    return {"type": "object", "properties": properties, "additionalProperties": False}


TREE = {"$defs": {"tree": closed(left={"$ref": "#/$defs/tree"})}}


@pytest.mark.parametrize(
    "schema, place",
    [
        (closed(a=TEXT), None),
        ({"type": "object"}, ("", True)),
        ({}, ("", True)),
        (closed(a=TEXT, b={"type": "object", "properties": {"c": TEXT}}), ("/properties/b", True)),
        (
            closed(a=closed(b={"type": "array", "items": TEXT}, c={"type": "array"})),
            ("/properties/a/properties/c", True),
        ),
        ({**TREE, **closed(a={"type": "array", "items": {"$ref": "#/$defs/tree"}})}, ("/$defs/tree", False)),
        (closed(a={"type": ["null", "object"], "additionalProperties": {"$ref": "#"}}), ("", False)),
    ],
)
def test_values_with_parts_of_their_own_kind(schema, place):
    assert endless(read_schema(schema)) == place


@pytest.mark.parametrize(
    "schema, place",
    [
        (closed(a={**TEXT, "maxLength": 9}), None),
        (closed(a=TEXT, b={**TEXT, "maxLength": 10}), "/properties/b"),
        (closed(a={"type": "array", "items": TEXT, "minItems": 10}), "/properties/a"),
        ({"type": "object", "additionalProperties": TEXT, "maxProperties": 10}, ""),
    ],
)
def test_more_parts_than_an_engine_repeats(schema, place):
    assert most_repeated(read_schema(schema), 9) == place
