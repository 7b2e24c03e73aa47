from __future__ import annotations

from random import Random

import jsonschema
import pytest
from graph_values import allows
from hypothesis import given, settings
from hypothesis import strategies as st
from keyword_checks import refused, same

from kernelet.structured.refusal import UnenforcedError
from kernelet.structured.schema.read import read_schema

ITEMS = ({"const": 1}, {"type": "number"}, {"type": "string"}, {"enum": [1, "a"]}, {"maximum": 1}, False, {})
VALUES = [[], *([a] for a in (1, 2, "a")), *([a, b] for a in (1, 2, "a") for b in (1, "a"))]
VALUES += [[1, 1, 1], [1, "a", 1], [2, 2, "a"], ["a", 1, 2, 1], [2, 2, 2, 2], [1, 1, 1, "a"], ["a", "a", 1, 1]]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32).map(Random))
def test_counts_and_first_items(random):
    others = {
        "prefixItems": [random.choice(ITEMS) for _ in range(random.randrange(1, 3))],
        "items": random.choice(ITEMS),
        "maxContains": random.randrange(3),
        "minItems": random.randrange(4),
        "maxItems": random.randrange(5),
        "allOf": [{"contains": random.choice(ITEMS), "maxContains": 2}],
    }
    schema = {"type": "array", "contains": random.choice(ITEMS), "minContains": random.randrange(3)}
    schema |= {keyword: value for keyword, value in others.items() if random.random() < 0.4}
    validator = jsonschema.Draft202012Validator(schema)
    try:
        graph = read_schema(schema)
    except UnenforcedError:
        return
    for value in VALUES:
        assert allows(graph, value) == validator.is_valid(value), (schema, value)


def test_one_count_is_a_count():
    graph = same({"type": "array", "contains": {"const": 1}, "maxContains": 2}, [], [1], ["x", 1], [1, 1, 1], 3)
    (shape,) = graph.nodes[0]
    assert shape.contained.minimum == 1 and shape.contained.maximum == 2 and shape.rest is not None


def test_counts_that_follow_need_no_counting():
    graph = same({"items": {"const": 1}, "contains": {"type": "number"}, "type": "array"}, [], [1], [1, 1], ["x"])
    (shape,) = graph.nodes[0]
    assert shape.contained is None and shape.min_items == 1
    several = {"type": "array", "contains": {"const": 1}, "allOf": [{"contains": {"type": "integer"}}]}
    (shape,) = same(several, [], [2], [1], [1, "x"]).nodes[0]
    assert shape.contained is not None


def test_several_counts_in_short_arrays_are_spelled_out():
    schema = {"contains": {"const": 1}, "maxItems": 3, "allOf": [{"contains": {"type": "string"}}]}
    same(schema, [], [1], ["a"], [1, "a"], ["a", None, 1], [1, 1, 1], [1, "a", 1, 1])


@pytest.mark.parametrize("size", [50, 300])
def test_too_many_ways(size):
    refused({"prefixItems": [{}] * size, "contains": {"const": 1}, "minContains": size // 2}, "/contains")
