from __future__ import annotations

import pytest
from keyword_checks import refused, same, same_and_opposite

from kernelet.structured.schema.dialects import Dialect

ARRAYS = (
    [],
    [1],
    ["a"],
    [1, 1],
    [1, "a"],
    ["a", 1],
    ["a", "a"],
    [1, 2, 1],
    ["a", 1, "a"],
    [None, 1, "a"],
    [1, 1, 1, 1],
    1,
)
NUMBER, TEXT = {"type": "number"}, {"type": "string"}


@pytest.mark.parametrize(
    "schema",
    [
        {"minItems": 2},
        {"maxItems": 1},
        {"items": NUMBER},
        {"prefixItems": [TEXT]},
        {"prefixItems": [TEXT, NUMBER], "items": TEXT},
        {"prefixItems": [TEXT], "items": False},
        {"contains": TEXT},
        {"contains": TEXT, "minContains": 2},
        {"contains": NUMBER, "maxContains": 2},
        {"contains": NUMBER, "minContains": 0, "maxContains": 1},
        {"contains": {"const": 1}, "minContains": 2, "maxContains": 3},
        {"items": {"enum": [1, "a"]}, "uniqueItems": True},
        {"items": {"enum": [1, 2]}, "maxItems": 3, "uniqueItems": True},
    ],
)
def test_arrays(schema):
    same(schema, *ARRAYS)
    if not schema.get("uniqueItems"):
        same_and_opposite(schema, *ARRAYS)


@pytest.mark.parametrize("schema", [{"minContains": 3, "maxItems": 2}, {"uniqueItems": False, "minItems": 1}])
def test_what_says_nothing(schema):
    same(schema, *ARRAYS)


@pytest.mark.parametrize(
    "schema",
    [
        {"items": [TEXT]},
        {"items": [TEXT], "additionalItems": NUMBER},
        {"items": NUMBER, "additionalItems": False, "minItems": 1},
        {"contains": TEXT, "minContains": 2, "prefixItems": [NUMBER]},
        {"items": [], "additionalItems": TEXT},
    ],
)
def test_draft_7(schema):
    same_and_opposite(schema, *ARRAYS, dialect=Dialect.DRAFT_7)


def test_refused():
    refused({"uniqueItems": True}, "/uniqueItems")
    refused({"allOf": [{"contains": TEXT}, {"contains": NUMBER}]}, "/allOf/0/contains", "/allOf/1/contains")
