from __future__ import annotations

import json
from random import Random

import pytest
from written import agree, graph_of, language_of_graph

from kernelet.structured.automata.syntax import EVERYTHING
from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError
from kernelet.structured.rules import count_expressions, recursive_rules
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.schema.shapes import (
    ArrayShape,
    BooleanShape,
    KeyClass,
    NullShape,
    NumberShape,
    ObjectShape,
    Property,
    SchemaGraph,
    StringShape,
)
from kernelet.structured.schema.write.nodes import write_graph

ANY = (
    NullShape(),
    BooleanShape(),
    NumberShape(),
    StringShape(),
    ArrayShape(rest=0),
    ObjectShape(others=(KeyClass(keys=EVERYTHING, node=0),)),
)
VALUES = [None, True, False, 0, -1.5, "", "\u00e9\n", [], [[1], {}], {}, {"a": {"b": [None, "c"]}}]


def test_any_value():
    agree(graph_of(ANY), VALUES, Random(0), samples=60)


@pytest.mark.parametrize("shape", ANY)
def test_each_type_alone(shape):
    graph = graph_of(ANY, shape)
    graph.root = 1
    agree(graph, VALUES, Random(1))


@pytest.mark.parametrize("value", [True, False])
def test_one_boolean(value):
    agree(graph_of(BooleanShape(value=value)), [True, False, None], Random(0))


def test_circles_become_rules_that_name_themselves():
    tree = ObjectShape(properties=(Property(name="next", node=0, required=False),))
    written = agree(graph_of(tree), [{}, {"next": {}}, {"next": {"next": {"next": {}}}}, {"next": 1}], Random(0))
    assert len(recursive_rules(written.rules)) == 1


def test_nodes_that_are_named_often_are_written_once():
    large = ObjectShape(properties=tuple(Property(name=f"k{index}", node=2, required=True) for index in range(40)))
    once = graph_of(ArrayShape(prefix=(1,)), large, BooleanShape())
    often = graph_of(ArrayShape(prefix=(1,) * 20), large, BooleanShape())
    sizes = [count_expressions(language_of_graph(graph).rules) for graph in (once, often)]
    assert sizes[1] < 2 * sizes[0]


def test_long_chains_of_nodes_do_not_run_out_of_stack():
    links = [ArrayShape(prefix=(node + 1,), min_items=1, max_items=1) for node in range(3000)]
    written = language_of_graph(graph_of(*links, NullShape()))
    text = "[" * 3000 + "null" + "]" * 3000
    assert text in written
    assert text[1:] not in written


def test_what_stands_where_it_is_named_has_a_name_like_its_place():
    tree = ObjectShape(properties=(Property(name="next", node=0, required=False),))
    graph = graph_of(tree)
    graph.paths[0] = "/$defs/Tree-Node"
    assert "tree_node" in write_graph(graph, JsonOptions()).rules


def test_nothing_is_invalid():
    with pytest.raises(InvalidConstraintError, match="no text"):
        write_graph(SchemaGraph(nodes=[()]), JsonOptions())


def test_refusals_name_the_node():
    graph = graph_of(ArrayShape(prefix=(1,)), NumberShape(minimum=10**50))
    graph.paths[1] = "/prefixItems/0"
    with pytest.raises(UnenforcedError) as caught:
        write_graph(graph, JsonOptions())
    assert [refusal.path for refusal in caught.value.refusals] == ["/prefixItems/0"]


def test_whitespace_is_bounded():
    written = language_of_graph(graph_of(ANY), JsonOptions(max_whitespace=3))
    assert '{"a":   [ 1,\n\n\n2 ]}' in written
    assert '{"a":    1}' not in written
    assert all(text == text.strip() for text in written.samples(Random(2), 40) if json.loads(text) != 0)
