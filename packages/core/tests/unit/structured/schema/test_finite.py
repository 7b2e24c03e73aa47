from __future__ import annotations

import pytest

from kernelet.structured.schema.finite import values_of
from kernelet.structured.schema.read import read_schema
from kernelet.structured.schema.values import value_of

CLOSED = {"type": "object", "additionalProperties": False}


def values(schema, limit=10):
    graph = read_schema(schema)
    return values_of(lambda node: graph.nodes[node], 0, limit)


@pytest.mark.parametrize("schema, expected",
    [
        ({"type": "boolean"}, [True, False]),
        ({"type": "null"}, [None]),
        ({"enum": [1, "a", [2], {"b": 3}]}, [1, "a", [2], {"b": 3}]),
        ({"type": "integer", "minimum": 0.5, "maximum": 3}, [1, 2, 3]),
        ({"type": "number", "minimum": 2, "maximum": 2}, [2]),
        ({"type": "array", "prefixItems": [{"type": "boolean"}, {"const": 1}], "items": False},
         [[], [True], [False], [True, 1], [False, 1]]),
        ({**CLOSED, "properties": {"a": {"const": 1}, "b": {"type": "boolean"}}, "required": ["b"]},
         [{"b": True}, {"b": False}, {"a": 1, "b": True}, {"a": 1, "b": False}]),
        ({**CLOSED, "maxProperties": 1, "properties": {"a": {"const": 1}, "b": {"const": 2}}},
         [{}, {"a": 1}, {"b": 2}]),
        (False, []),
    ],
)  # fmt: skip
def test_few(schema, expected):
    found = values(schema)
    assert found is not None and len(found) == len(expected)
    assert set(found) == set(map(value_of, expected))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "integer", "minimum": 0},
        {"type": "integer", "minimum": 0, "maximum": 10**9},
        {"enum": list(range(11))},
        {"type": "array"},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"enum": list(range(11))}}, "additionalProperties": False},
        {"anyOf": [{"type": "null"}, {"type": "array", "prefixItems": [{"$ref": "#"}], "items": False}]},
    ],
)
def test_many(schema):
    assert values(schema) is None


def test_refused_shapes_are_not_known():
    assert values_of(lambda node: None, 0, 10) is None
