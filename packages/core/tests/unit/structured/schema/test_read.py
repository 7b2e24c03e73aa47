from __future__ import annotations

import time
from collections import Counter
from random import Random

import pytest
from graph_values import allows, suite_groups
from hypothesis import given, settings
from hypothesis import strategies as st
from judge import judged
from keyword_checks import VALIDATORS
from random_schemas import constants, in_draft_7, random_document, random_schema, random_value

from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError
from kernelet.structured.schema.dialects import Dialect
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.schema.read import read_schema

SEEDS = st.integers(0, 2**32).map(Random)


def compare(schema, random, count, dialect=Dialect.DRAFT_2020_12):
    """Whether the graph of a schema, if there is one, allows what ``jsonschema`` does."""
    try:
        graph = read_schema(schema, dialect=dialect)
    except UnenforcedError:
        return
    validator = VALIDATORS[dialect](schema)
    given_values = list(constants(schema))
    for index in range(count):
        value = given_values[index] if index < len(given_values) else random_value(random, 2 + index % 2)
        if (is_valid := judged(validator, value)) is not None:
            assert allows(graph, value) == is_valid, (schema, value)


@settings(deadline=None, max_examples=40)
@given(SEEDS)
def test_random_schemas(random):
    compare(random_schema(random), random, 15)


@settings(deadline=None, max_examples=25)
@given(SEEDS)
def test_random_schemas_with_circles(random):
    compare(random_document(random), random, 15)


@settings(deadline=None, max_examples=25)
@given(SEEDS)
def test_random_schemas_of_draft_7(random):
    compare(in_draft_7(random_document(random)), random, 15, Dialect.DRAFT_7)


@pytest.mark.long
@settings(deadline=None, max_examples=3000)
@given(SEEDS)
def test_many_random_schemas(random):
    compare(random.choice((random_schema, random_document))(random), random, 30)


@pytest.mark.parametrize(
    "draft, dialect, least", [("draft2020-12", Dialect.DRAFT_2020_12, 335), ("draft7", Dialect.DRAFT_7, 224)]
)
def test_official_suite(draft, dialect, least):
    seen = Counter()
    for file, description, schema, tests in suite_groups(draft):
        try:
            graph = read_schema(schema, None, None if isinstance(schema, dict) and "$schema" in schema else dialect)
        except UnenforcedError:
            seen["refused"] += 1
            continue
        seen["right"] += 1
        for test in tests:
            assert allows(graph, test["data"]) == test["valid"], (file, description, test["description"])
    assert seen["right"] >= least, seen


@pytest.mark.parametrize(
    "schema, path",
    [
        ({"properties": {"a": {"uniqueItems": True}}}, "/properties/a/uniqueItems"),
        ({"items": {"$ref": "http://example.com/x.json"}}, "/items/$ref"),
        ({"not": {"format": "date"}}, "/not/format"),
        ({"pattern": "(?=a)b"}, "/pattern"),
        ({"minProperties": 3}, "/minProperties"),
        ({"dependencies": {"a": ["b"]}}, "/dependencies"),
        ({"$ref": "#/$defs/N", "$defs": {"N": {"$ref": "#/$defs/N"}}}, "/$defs/N"),
        ({"not": {"$ref": "#"}}, ""),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "/$schema"),
    ],
)
def test_refused_by_path(schema, path):
    with pytest.raises(UnenforcedError) as caught:
        read_schema(schema)
    assert {refusal.path for refusal in caught.value.refusals} == {path}


def test_all_refusals_are_named():
    schema = {"properties": {"a": {"uniqueItems": True}, "b": {"anyOf": [{"pattern": r"\b"}, {"$ref": "x.json"}]}}}
    with pytest.raises(UnenforcedError) as caught:
        read_schema(schema)
    paths = {refusal.path for refusal in caught.value.refusals}
    assert paths == {"/properties/a/uniqueItems", "/properties/b/anyOf/0/pattern", "/properties/b/anyOf/1/$ref"}


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"unused": {"pattern": "(?=a)b"}}, "type": "string"},
        {"type": "string", "uniqueItems": True},
        {"allOf": [{"type": "null"}, {"minProperties": 5}]},
        {"format": "unknown to everybody", "nullable": True, "discriminator": {"propertyName": "x"}},
    ],
)
def test_what_does_not_matter_is_not_refused(schema):
    assert read_schema(schema).nodes


@pytest.mark.parametrize("schema", [{"type": "strin"}, {"properties": {"foo": "bar"}}, 7, {"$ref": "#/nowhere"}])
def test_what_is_no_schema(schema):
    with pytest.raises(InvalidConstraintError):
        read_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [False, {"enum": []}, {"properties": {"a": {"$ref": "#"}}, "required": ["a"], "type": "object"}, {"not": {}}],
)
def test_nothing_is_allowed(schema):
    assert read_schema(schema).nodes == [()]


def test_nodes_without_values_are_only_the_root():
    schema = {"properties": {"a": {"items": {"$ref": "#/$defs/endless"}}, "b": {"$ref": "#/$defs/endless"}}}
    schema["$defs"] = {"endless": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/endless"}}}
    graph = read_schema(schema)
    assert all(graph.nodes)
    assert allows(graph, {"a": []}) and not allows(graph, {"a": [[]]}) and not allows(graph, {"b": []})


def test_circles_become_circles():
    graph = read_schema({"type": "object", "properties": {"c": {"type": "array", "items": {"$ref": "#"}}}})
    assert len(graph.nodes) <= 3
    value = {}
    for _ in range(20):
        value = {"c": [value, {}]}
    assert allows(graph, value)
    value["c"][1]["c"] = 3
    assert not allows(graph, value)


def test_properties_are_in_the_order_of_the_schema():
    graph = read_schema(
        {"required": ["z", "x"], "properties": {"c": {}, "a": {}}, "allOf": [{"properties": {"b": {}}}]}
    )
    (shape,) = [shape for shape in graph.nodes[0] if hasattr(shape, "properties")]
    assert [each.name for each in shape.properties] == ["c", "a", "b", "z", "x"]


def test_closed_objects():
    closed = JsonOptions(additional_properties=False)
    graph = read_schema(
        {"properties": {"a": {"type": "object"}}, "patternProperties": {"^x": {"type": "null"}}}, closed
    )
    assert allows(graph, {"a": {"free": 1}, "x1": None}) and not allows(graph, {"b": 1})
    graph = read_schema({"properties": {"a": {}}, "additionalProperties": {"type": "null"}}, closed)
    assert allows(graph, {"b": None}) and not allows(graph, {"b": 1})


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"anyOf": [{"required": [f"a{i}_{j}"]} for j in range(5)]} for i in range(10)]},
        {
            "$ref": "#/$defs/0",
            "$defs": {str(i): {"$ref": f"#/$defs/{i + 1}", "minLength": 1} for i in range(500)} | {"500": {}},
        },
        {"prefixItems": [{}] * 100, "contains": {"const": 1}, "minContains": 50},
        {"properties": {f"p{i}": {} for i in range(40)}, "not": {"additionalProperties": False}},
    ],
)
def test_what_is_too_large_is_refused_soon(schema):
    start = time.process_time()
    with pytest.raises(UnenforcedError):
        read_schema(schema)
    assert time.process_time() - start < 60
