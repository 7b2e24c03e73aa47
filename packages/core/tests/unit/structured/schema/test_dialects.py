from __future__ import annotations

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from kernelet.structured.refusal import UnenforcedError
from kernelet.structured.schema.dialects import KEYWORDS, Dialect, dialect_of, escape, hides_siblings, subschemas

VALIDATORS = {Dialect.DRAFT_2020_12: Draft202012Validator, Dialect.DRAFT_7: Draft7Validator}


@pytest.mark.parametrize("dialect", Dialect)
def test_every_keyword_that_says_something_is_known(dialect):
    """``jsonschema`` has a function for each; older ones that it keeps are refused or read as the dialect has it."""
    validator = VALIDATORS[dialect]
    assert validator.META_SCHEMA["$schema"].rstrip("#") == dialect.value
    assert set(validator.VALIDATORS) <= KEYWORDS[dialect].keys()


@pytest.mark.parametrize(
    "named, expected",
    [
        ("https://json-schema.org/draft/2020-12/schema", Dialect.DRAFT_2020_12),
        ("https://json-schema.org/draft/2020-12/schema#", Dialect.DRAFT_2020_12),
        ("http://json-schema.org/draft-07/schema#", Dialect.DRAFT_7),
        ("https://json-schema.org/draft-07/schema", Dialect.DRAFT_7),
    ],
)
def test_named(named, expected):
    assert dialect_of({"$schema": named}, Dialect.DRAFT_2020_12) is expected


def test_default():
    assert dialect_of({}, Dialect.DRAFT_7) is Dialect.DRAFT_7
    assert dialect_of(True, Dialect.DRAFT_7) is Dialect.DRAFT_7


def test_other_dialects_are_refused_by_path():
    with pytest.raises(UnenforcedError) as caught:
        dialect_of({"$schema": "http://json-schema.org/draft-04/schema#"}, Dialect.DRAFT_7)
    (refusal,) = caught.value.refusals
    assert refusal.path == "/$schema" and "draft-04" in refusal.reason and "2020-12" in refusal.reason


def test_escape():
    assert escape("a/b~c") == "a~1b~0c"


def test_a_reference_stands_alone_in_draft_7_only():
    assert hides_siblings({"$ref": "#", "type": "string"}, Dialect.DRAFT_7)
    assert not hides_siblings({"$ref": "#", "type": "string"}, Dialect.DRAFT_2020_12)
    assert not hides_siblings({"$ref": {"type": "string"}}, Dialect.DRAFT_7)


def test_subschemas():
    schema = {
        "properties": {"a/b": {"type": "string"}},
        "items": [True, {}],
        "dependencies": {"x": ["y"], "z": {"minimum": 1}},
        "not": False,
        "const": {"properties": {"c": {}}},
        "x-unknown": {"type": "null"},
    }
    assert dict(subschemas(schema, "", Dialect.DRAFT_7)) == {
        "/properties/a~1b": {"type": "string"},
        "/items/0": True,
        "/items/1": {},
        "/dependencies/z": {"minimum": 1},
        "/not": False,
    }
    assert dict(subschemas(True, "", Dialect.DRAFT_7)) == {}
