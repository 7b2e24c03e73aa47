"""Whether a graph of shapes allows a value: slow, and as the shapes' own words say it."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest

from kernelet.structured.automata.questions import matches
from kernelet.structured.schema.formats import language_of
from kernelet.structured.schema.shapes import (
    ArrayShape,
    BooleanShape,
    NullShape,
    NumberShape,
    ObjectShape,
    SchemaGraph,
    StringShape,
)

SUITE = "KERNELET_JSON_SCHEMA_TEST_SUITE"


def suite_groups(draft):
    """(file, description, schema, tests) of the official suite, or the test is skipped."""
    place = os.environ.get(SUITE)
    if not place or not (Path(place) / "tests" / draft).is_dir():
        pytest.skip(f"${SUITE} names no JSON-Schema-Test-Suite; the sdist of jsonschema has it in json/")
    for file in sorted((Path(place) / "tests" / draft).glob("*.json")):
        if file.name != "format.json":
            for group in json.loads(file.read_text(encoding="utf-8")):
                yield file.name, group["description"], group["schema"], group["tests"]


def allows(graph: SchemaGraph, value: object, node: int | None = None) -> bool:
    """Whether a value as ``json.loads`` gives it is allowed."""
    shapes = graph.nodes[graph.root if node is None else node]
    return any(_has_shape(graph, shape, value) for shape in shapes)


def _has_shape(graph, shape, value):
    match shape:
        case NullShape():
            return value is None
        case BooleanShape():
            return isinstance(value, bool) and shape.value in {None, value}
        case NumberShape():
            return isinstance(value, int | float) and not isinstance(value, bool) and _number(shape, value)
        case StringShape():
            return isinstance(value, str) and _string(shape, value)
        case ArrayShape():
            return isinstance(value, list) and _array(graph, shape, value)
        case ObjectShape():
            return isinstance(value, dict) and _object(graph, shape, value)
    raise AssertionError(shape)


def _number(shape, value):
    number = Fraction(repr(value))
    if shape.minimum is not None and (number < shape.minimum or (shape.exclusive_minimum and number == shape.minimum)):
        return False
    if shape.maximum is not None and (number > shape.maximum or (shape.exclusive_maximum and number == shape.maximum)):
        return False
    return (
        (not shape.integer or number.denominator == 1)
        and all(number % each == 0 for each in shape.multiples)
        and all(number % each != 0 for each in shape.not_multiples)
        and (shape.values is None or number in shape.values)
        and number not in shape.excluded
    )


def _string(shape, value):
    return (
        shape.min_length <= len(value) <= (len(value) if shape.max_length is None else shape.max_length)
        and all(matches(each, value) for each in shape.patterns)
        and not any(matches(each, value) for each in shape.not_patterns)
        and all(matches(language_of(each), value) for each in shape.formats)
        and (shape.values is None or value in shape.values)
        and value not in shape.excluded
    )


def _array(graph, shape, value):
    if not shape.min_items <= len(value) <= (len(value) if shape.max_items is None else shape.max_items):
        return False
    if shape.distinct is not None:
        chosen = permutations(shape.distinct, len(value))
        return any(all(map(lambda node, item: allows(graph, item, node), each, value)) for each in chosen)
    first, further = value[: len(shape.prefix)], value[len(shape.prefix) :]
    if not all(allows(graph, item, node) for item, node in zip(first, shape.prefix, strict=False)):
        return False
    if further and (shape.rest is None or not all(allows(graph, item, shape.rest) for item in further)):
        return False
    if shape.contained is not None:
        inside = [allows(graph, item, shape.contained.inside) for item in further]
        outside = [allows(graph, item, shape.contained.outside) for item in further]
        assert not any(map(lambda one, other: one and other, inside, outside)), "the kinds of items overlap"
        assert all(map(lambda one, other: one or other, inside, outside)), "rest is not the union of its kinds"
        most = len(further) if shape.contained.maximum is None else shape.contained.maximum
        return shape.contained.minimum <= sum(inside) <= most
    return True


def _object(graph, shape, value):
    if not shape.min_properties <= len(value) <= (len(value) if shape.max_properties is None else shape.max_properties):
        return False
    named = {each.name: each for each in shape.properties}
    if any(each.required and each.name not in value for each in shape.properties):
        return False
    for name, member in value.items():
        if name in named:
            if not allows(graph, member, named[name].node):
                return False
            continue
        classes = [each for each in shape.others if matches(each.keys, name)]
        assert len(classes) <= 1, "a name is in two classes"
        if not classes or not allows(graph, member, classes[0].node):
            return False
    assert not any(matches(each.keys, name) for each in shape.others for name in named), "a property is in a class"
    return True
