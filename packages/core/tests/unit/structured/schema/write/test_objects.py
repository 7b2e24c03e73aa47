from __future__ import annotations

import json
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from written import agree, graph_of, language_of_graph

from kernelet.structured.automata.parse import parse_pattern
from kernelet.structured.automata.syntax import both, complement, literal, union
from kernelet.structured.refusal import UnenforcedError
from kernelet.structured.rules import count_expressions, is_recursive
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.schema.shapes import BooleanShape, KeyClass, NullShape, NumberShape, ObjectShape, Property

NAMES = ("a", "b", "c", "d")
INTEGER, NULL = NumberShape(integer=True), NullShape()
OBJECTS = st.lists(
    st.dictionaries(st.sampled_from([*NAMES, "x", "xy"]), st.sampled_from([1, None]), max_size=4),
    min_size=4,
    max_size=12,
)


def named(name, *, required=False, has_place=True, node=1):
    return Property(name=name, node=node, required=required, has_place=has_place)


@st.composite
def shapes(draw, others):
    names = NAMES[: draw(st.integers(0, 4))]
    properties = tuple(
        named(name, required=draw(st.booleans()), has_place=draw(st.integers(0, 3)) > 0, node=draw(st.integers(1, 2)))
        for name in names
    )
    properties = tuple(sorted(properties, key=lambda each: not each.has_place))
    keys = both(parse_pattern("^x"), complement(union(*map(literal, NAMES))))
    classes = (KeyClass(keys=keys, node=1),) if others else ()
    required = sum(each.required for each in properties)
    least = draw(st.integers(0, required + 1 if others else 4))
    return ObjectShape(
        properties=properties,
        others=classes,
        min_properties=least,
        max_properties=draw(st.none() | st.integers(least, 5)),
    )


@given(shapes(others=False), OBJECTS, st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_named_properties(shape, objects, seed):
    agree(graph_of(shape, INTEGER, NULL), objects, Random(seed))


@given(shapes(others=True), OBJECTS, st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_named_properties_and_others(shape, objects, seed):
    # where a name comes twice, the later value counts: it is of the same class
    agree(graph_of(shape, INTEGER, NULL), objects, Random(seed))


def test_properties_come_in_order():
    written = language_of_graph(graph_of(ObjectShape(properties=tuple(map(named, NAMES))), INTEGER))
    for chosen in (order for count in range(5) for order in permutations(NAMES, count)):
        text = "{" + ",".join(f'"{name}":1' for name in chosen) + "}"
        assert (text in written) == (list(chosen) == sorted(chosen))


@pytest.mark.parametrize("required", [True, False])
def test_properties_without_a_place_come_anywhere_behind_the_others(required):
    properties = (named("d"), *(named(name, required=required, has_place=False) for name in "abc"))
    written = language_of_graph(graph_of(ObjectShape(properties=properties), INTEGER))
    for chosen in (order for count in range(5) for order in permutations(NAMES, count)):
        text = "{" + ",".join(f'"{name}":1' for name in chosen) + "}"
        is_whole = not required or set("abc") <= set(chosen)
        assert (text in written) == (is_whole and ("d" not in chosen or chosen[0] == "d"))


def test_no_property_is_named_twice():
    properties = (named("a"), named("b", has_place=False))
    written = language_of_graph(graph_of(ObjectShape(properties=properties), INTEGER))
    assert not any(
        text in written for text in ('{"a":1,"a":1}', '{"b":1,"b":1}', '{"a":1,}', '{,"a":1}', '{"a":1"b":1}')
    )


def test_whitespace_stands_beside_marks():
    shape = ObjectShape(properties=(named("a"), named("b")))
    written = language_of_graph(graph_of(shape, INTEGER), JsonOptions(max_whitespace=1))
    assert '{ "a" : 1 , "b" : 2 }' in written
    assert '{"a": 1, "b": 2}' in written
    assert '{  "a":1}' not in written


@pytest.mark.parametrize("required", [0, 15, 30])
def test_size_grows_with_the_number_of_properties_only(required):
    def size(count):
        properties = tuple(named(f"key{index}", required=index < required) for index in range(count))
        written = language_of_graph(graph_of(ObjectShape(properties=properties), BooleanShape()))
        assert not is_recursive(written.rules)
        return count_expressions(written.rules)

    assert size(60) < 2.5 * size(30)
    assert size(30) < 800


def test_every_text_of_many_optional_properties_parses():
    properties = tuple(named(f"key{index}", required=index == 17) for index in range(30))
    written = language_of_graph(graph_of(ObjectShape(properties=properties), BooleanShape()))
    for text in written.samples(Random(3), 30):
        pairs = json.loads(text, object_pairs_hook=list)
        keys = [int(key.removeprefix("key")) for key, _ in pairs]
        assert keys == sorted(set(keys))
        assert 17 in keys


def test_names_that_nobody_can_tell_apart_are_refused():
    shape = ObjectShape(others=(KeyClass(keys=parse_pattern("^x"), node=1),), min_properties=2)
    with pytest.raises(UnenforcedError, match="nobody can tell"):
        language_of_graph(graph_of(shape, INTEGER))


def test_too_many_cases_are_refused():
    properties = tuple(named(f"key{index}") for index in range(100))
    with pytest.raises(UnenforcedError, match="too many cases"):
        language_of_graph(graph_of(ObjectShape(properties=properties, max_properties=60), INTEGER))
