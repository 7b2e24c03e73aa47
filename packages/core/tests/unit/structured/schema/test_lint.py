from __future__ import annotations

import pytest

from kernelet.structured.refusal import InvalidConstraintError
from kernelet.structured.schema.dialects import Dialect, Form
from kernelet.structured.schema.lint import check, shown, walk

NEW, OLD = Dialect.DRAFT_2020_12, Dialect.DRAFT_7


@pytest.mark.parametrize(
    "schema, place, expected",
    [
        ({"properties": {"foo": "bar"}}, "/properties/foo", "a schema"),
        ({"type": "strin"}, "/type", "one of array"),
        ({"type": []}, "/type", "one of array"),
        ({"type": ["string", 1]}, "/type", "one of array"),
        (
            {"items": [{"type": "integer"}]},
            "/items",
            '(an object, true or false): write "prefixItems", or say "$schema": ',
        ),
        ({"maxLength": -1}, "/maxLength", "whole number"),
        ({"maxLength": 1.5}, "/maxLength", "whole number"),
        ({"minItems": True}, "/minItems", "whole number"),
        ({"multipleOf": 0}, "/multipleOf", "above 0"),
        ({"minimum": "1"}, "/minimum", "a number"),
        ({"minimum": float("inf")}, "/minimum", "a number"),
        ({"pattern": "a(b"}, "/pattern", "character"),
        ({"pattern": 3}, "/pattern", "regular expression"),
        ({"enum": "a"}, "/enum", "a list of values"),
        ({"required": ["a", 1]}, "/required", "a list of texts"),
        ({"anyOf": []}, "/anyOf", "at least one"),
        ({"anyOf": [{}, 3]}, "/anyOf/1", "a schema"),
        ({"uniqueItems": 1}, "/uniqueItems", "true or false"),
        ({"dependentRequired": {"a": "b"}}, "/dependentRequired", "lists of texts"),
        ({"patternProperties": {"[a": {}}}, "/patternProperties/[a", "character"),
        ({"$defs": {"a~b": {"not": {"type": 4}}}}, "/$defs/a~0b/not/type", "one of array"),
        ([], "", "a schema"),
    ],
)
def test_malformed(schema, place, expected):
    with pytest.raises(InvalidConstraintError) as caught:
        check(schema, NEW)
    assert caught.value.path == place and expected in caught.value.reason


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {"maxLength": 2.0, "enum": [], "required": []},
        {"x-hint": {"type": 4}, "default": {"type": 4}, "examples": 3},
        {"const": {"type": 4}, "enum": [{"minimum": "a"}]},
        {"properties": {"type": {"type": "string"}, "$ref": {}, "enum": {}}},
    ],
)
def test_well_formed(schema):
    assert check(schema, NEW) == []


def test_dialects_differ():
    assert check({"items": [{}], "dependencies": {"a": ["b"], "c": {}}}, OLD) == []
    (refusal,) = check({"allOf": [{"dependencies": {}}]}, NEW)
    assert refusal.path == "/allOf/0/dependencies" and "dependentRequired" in refusal.reason
    assert check({"$ref": "#", "maxLength": "x"}, OLD) == []  # hidden
    with pytest.raises(InvalidConstraintError):
        check({"$ref": "#", "maxLength": "x"}, NEW)


def test_patterns_that_nobody_enforces():
    first, second = check({"pattern": "(?=a)b", "patternProperties": {r"\bx": {}}}, NEW)
    assert first.path == "/pattern" and second.path == r"/patternProperties/\bx"


def test_one_dialect_in_a_schema():
    (refusal,) = check({"$defs": {"a": {"$schema": OLD.value}}}, NEW)
    assert refusal.path == "/$defs/a/$schema" and "one dialect" in refusal.reason


def test_walk_names_every_keyword():
    schema = {"type": "object", "properties": {"a": {"items": {"minimum": 1}, "title": "A"}}}
    assert [(site.path, site.keyword, site.form) for site in walk(schema, NEW)] == [
        ("/type", "type", Form.TYPES),
        ("/properties", "properties", Form.NAMED_SCHEMAS),
        ("/properties/a/items", "items", Form.SCHEMA),
        ("/properties/a/title", "title", None),
        ("/properties/a/items/minimum", "minimum", Form.NUMBER),
    ]


def test_long_values_are_cut_in_messages():
    assert len(shown("x" * 1000)) == 60
