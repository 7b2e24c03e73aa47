from __future__ import annotations

import pytest
from keyword_checks import refused, same

FEW = {"enum": [1, "a", None]}
ARRAYS = (
    [],
    [1],
    [1, 1],
    [1, "a"],
    ["a", 1, None],
    [1, "a", 1],
    [None, None],
    [2, 3],
    [1, "a", None, 1],
    [True, False],
)


@pytest.mark.parametrize(
    "schema",
    [
        {"items": FEW},
        {"items": FEW, "minItems": 2},
        {"items": FEW, "minItems": 4},
        {"items": {"type": "boolean"}},
        {"maxItems": 1},
        {"prefixItems": [FEW, FEW], "items": False},
        {"prefixItems": [{"type": "number"}, {"type": "string"}], "items": False},
        {"prefixItems": [{"const": 1}], "items": FEW, "maxItems": 3},
        {"items": {"type": "integer", "minimum": 0, "maximum": 3}},
        {"items": {"enum": [[], [1], {"a": 1}]}},
    ],
)
def test_distinct(schema):
    same({**schema, "uniqueItems": True}, *ARRAYS, [[], [1]], [[], []], [{"a": 1}, {"a": 1}], [3, 2, 1, 0], 7)


def test_few_values_become_nodes_of_one_value_each():
    (shape,) = same({"type": "array", "items": FEW, "uniqueItems": True}, *ARRAYS).nodes[0]
    assert len(shape.distinct) == 3 and shape.max_items == 3 and shape.prefix == ()


def test_not_distinct():
    same({"not": {"uniqueItems": True}, "items": FEW, "maxItems": 3}, *ARRAYS)
    same({"anyOf": [{"not": {"uniqueItems": True}, "maxItems": 1}, {"type": "null"}]}, None, *ARRAYS)


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"type": "integer"}},
        {"items": {"enum": list(range(11))}},
        {"prefixItems": [FEW, {"type": "string"}], "items": False},
        {"items": {"$ref": "#"}},
        {"items": FEW, "contains": {"const": 1}, "maxContains": 1},
    ],
)
def test_refused(schema):
    refused({**schema, "uniqueItems": True}, "/uniqueItems")
