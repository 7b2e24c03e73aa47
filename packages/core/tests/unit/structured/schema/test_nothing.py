from __future__ import annotations

import pytest

from kernelet.structured.refusal import InvalidConstraintError
from kernelet.structured.schema.lower import lower_schema
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.schema.read import read_schema

EMPTY = {"type": "string", "minLength": 3, "maxLength": 2}


def having(name, schema, **more):
    return {"type": "object", "properties": {name: schema}, "required": [name], **more}


@pytest.mark.parametrize(
    "schema, place",
    [
        (False, ""),
        (EMPTY, ""),
        (having("a", {"enum": []}), "/properties/a"),
        (having("a/b", having("c", EMPTY)), "/properties/a~1b/properties/c"),
        (having("a", {"type": "object", "required": ["b"], "additionalProperties": False}), "/properties/a"),
        ({"type": "array", "minItems": 1, "items": EMPTY}, "/items"),
        ({"type": "array", "minItems": 2, "prefixItems": [{}, EMPTY]}, "/prefixItems/1"),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "items": [EMPTY], "minItems": 1, "type": "array"},
            "/items/0",
        ),
        ({"allOf": [{"type": "null"}, EMPTY]}, "/allOf/1"),
        ({"allOf": [{"type": "null"}, {"type": "string"}]}, ""),
        (having("a", {"$ref": "#/$defs/b"}, **{"$defs": {"b": having("c", EMPTY)}}), "/$defs/b/properties/c"),
        (having("a", {"$ref": "#"}), ""),
    ],
)
def test_the_innermost_place_is_told(schema, place):
    assert read_schema(schema).nothing_at == place
    with pytest.raises(InvalidConstraintError) as caught:
        lower_schema(schema, JsonOptions())
    assert str(caught.value) == f"{place or '/'}: no value satisfies all that is asked for here"


@pytest.mark.parametrize(
    "schema", [True, {"properties": {"a": EMPTY}}, {"items": EMPTY}, {"anyOf": [EMPTY, {"type": "null"}]}]
)
def test_what_no_value_needs_is_left_out(schema):
    assert read_schema(schema).nothing_at is None
