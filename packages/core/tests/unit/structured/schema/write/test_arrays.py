from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from written import agree, graph_of, language_of_graph

from kernelet.structured.refusal import UnenforcedError
from kernelet.structured.rules import count_expressions, is_recursive
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.schema.shapes import ArrayShape, BooleanShape, Contained, NullShape, NumberShape, StringShape

INTEGER, STRING, NULL = NumberShape(integer=True), StringShape(max_length=1), NullShape()
ITEMS = st.sampled_from([1, 7, "", "a", None, True])
ARRAYS = st.lists(st.lists(ITEMS, max_size=6), min_size=1, max_size=12)


@st.composite
def bounds(draw):
    low = draw(st.integers(0, 4))
    return {"min_items": low, "max_items": draw(st.none() | st.integers(low, 5))}


@given(
    bounds(),
    st.sampled_from([(), (1,), (1, 2), (2, 2, 3)]),
    st.sampled_from([None, 1, 2]),
    ARRAYS,
    st.integers(0, 2**32),
)
@settings(max_examples=30)
def test_prefix_and_rest(lengths, prefix, rest, arrays, seed):
    shape = ArrayShape(prefix=prefix, rest=rest, **lengths)
    kinds = [[1, "a", None][node - 1] for node in prefix]
    further = [[*kinds[:count], *[[None, 1, "a"][rest or 0]] * more] for count in range(4) for more in range(4)]
    agree(graph_of(shape, INTEGER, STRING, NULL), [*arrays, *further], Random(seed))


@given(
    bounds(),
    st.sampled_from([(), (3,)]),
    st.tuples(st.integers(0, 3), st.none() | st.integers(0, 3)),
    st.lists(st.lists(st.sampled_from([1, "a"]), max_size=6), min_size=5, max_size=15),
    st.integers(0, 2**32),
)
@settings(max_examples=30)
def test_items_that_are_counted(lengths, prefix, counts, arrays, seed):
    contained = Contained(inside=1, outside=2, minimum=counts[0], maximum=counts[1])
    shape = ArrayShape(prefix=prefix, rest=4, contained=contained, **lengths)
    graph = graph_of(shape, INTEGER, STRING, NULL, (INTEGER, STRING))
    agree(graph, [[None] * len(prefix) + array for array in arrays] + [[], [None]], Random(seed))


def test_all_items_count_where_there_are_no_others():
    shape = ArrayShape(rest=1, contained=Contained(inside=1, outside=2, minimum=1, maximum=2))
    agree(graph_of(shape, INTEGER, ()), [[], [1], [1, 2], [1, 2, 3]], Random(0))


@given(bounds(), st.integers(0, 4), st.lists(st.lists(st.integers(1, 4), max_size=5), min_size=5, max_size=15))
@settings(max_examples=20)
def test_items_that_differ(lengths, count, arrays):
    nodes = [NumberShape(values=frozenset([number])) for number in range(1, count + 1)]
    shape = ArrayShape(distinct=tuple(range(1, count + 1)), **lengths)
    written = agree(graph_of(shape, *nodes), arrays, Random(0))
    for text in written.samples(Random(1), 10):
        assert len(set(json.loads(text))) == len(json.loads(text))


def test_whitespace_stands_between_items():
    written = language_of_graph(graph_of(ArrayShape(rest=1), INTEGER), JsonOptions(max_whitespace=2))
    assert all(text in written for text in ("[]", "[  ]", "[1, 2]", "[\n 1 ,\n 2\n]"))
    assert not any(text in written for text in ("[   1]", "[1,]", "[,1]", "[1 2]", "[1],"))


def test_lengths_are_written_as_repeats():
    written = language_of_graph(graph_of(ArrayShape(rest=1, min_items=100, max_items=1000), BooleanShape()))
    assert count_expressions(written.rules) < 20
    assert not is_recursive(written.rules)


@pytest.mark.parametrize(
    "shape, nodes",
    [
        (ArrayShape(distinct=tuple(range(1, 15))), [NumberShape(values=frozenset([number])) for number in range(14)]),
        (
            ArrayShape(rest=3, min_items=90, max_items=100, contained=Contained(inside=1, outside=2, minimum=50)),
            [INTEGER, STRING, (INTEGER, STRING)],
        ),
    ],
)
def test_too_many_cases_are_refused(shape, nodes):
    with pytest.raises(UnenforcedError, match="too many cases"):
        language_of_graph(graph_of(shape, *nodes))
