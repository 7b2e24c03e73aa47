from __future__ import annotations

import pytest
from graph_values import allows
from keyword_checks import refused, same, same_and_opposite

from kernelet.structured.schema.read import read_schema

NUMBERS = (-1, 0, 0.5, 1, 1.0, 1.5, 2, 2.5, 3, 6, 0.3, True, "1", None)
TEXTS = ("", "a", "ab", "abc", "\U0001f600", "\U0001f600\U0001f600", 3)


@pytest.mark.parametrize(
    "schema",
    [
        {"minimum": 1},
        {"maximum": 1.5},
        {"exclusiveMinimum": 1},
        {"exclusiveMaximum": 2},
        {"multipleOf": 2},
        {"multipleOf": 0.5, "minimum": 0, "exclusiveMaximum": 2.5},
        {"minimum": 1, "maximum": 1},
        {"type": "number", "multipleOf": 3},
    ],
)
def test_numbers(schema):
    same_and_opposite(schema, *NUMBERS)


def test_decimals_are_exact():
    """``jsonschema`` computes with binary ones, which have no tenths."""
    graph = read_schema({"type": "number", "multipleOf": 0.1})
    assert all(allows(graph, value) for value in (0.3, 0.7, 1, 1e300, -2.1))
    assert not any(allows(graph, value) for value in (0.15, 1e-9, 0.30000000000000004))


@pytest.mark.parametrize(
    "schema",
    [
        {"minLength": 2},
        {"maxLength": 1},
        {"minLength": 1, "maxLength": 1},
        {"pattern": "b"},
        {"pattern": "^a$"},
        {"pattern": "^.*$", "minLength": 1},
        {"type": "string", "maxLength": 2.0},
    ],
)
def test_strings(schema):
    same_and_opposite(schema, *TEXTS)


def test_known_formats_restrict():
    graph = same({"format": "no such format", "minLength": 1}, "", "2020-01-01")
    assert graph.nodes[0]
    refused({"not": {"format": "date"}}, "/not/format")
    (shape,) = same({"type": "string", "format": "date"}, "2020-01-01", 3).nodes[0]
    assert shape.formats == ("date",)


def test_patterns_that_are_refused():
    refused({"anyOf": [{"pattern": "(?=a)b"}, {"minLength": 2}]}, "/anyOf/0/pattern")
