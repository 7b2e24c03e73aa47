"""Nodes of a graph become rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kernelet.contracts.structured import Expression, GrammarRules, Rule, Text
from kernelet.structured.automata.budget import TooLargeError
from kernelet.structured.refusal import Refusal, UnenforcedError
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.schema.shapes import (
    ArrayShape,
    BooleanShape,
    NodeId,
    NullShape,
    NumberShape,
    ObjectShape,
    SchemaGraph,
    Shape,
    StringShape,
)
from kernelet.structured.schema.write.arrays import array
from kernelet.structured.schema.write.numbers import number
from kernelet.structured.schema.write.objects import object_
from kernelet.structured.schema.write.parts import UnwritableError, any_of
from kernelet.structured.schema.write.scribe import Scribe
from kernelet.structured.schema.write.strings import string

MAX_DEPTH: Final = 8
"""Nodes that are written into each other before a rule is made."""


FEW_VALUES: Final = 4
"""Constants that are written wherever they are needed."""


def write_graph(graph: SchemaGraph, options: JsonOptions) -> GrammarRules:
    """Rules for the texts of all values of the graph's root.

    Raises:
        InvalidConstraintError: there are none.
        UnenforcedError: a shape cannot be written within bounds; names the place.
    """
    return _GraphWriter(graph, options).write()


def write_alone(graph: SchemaGraph, node: NodeId, options: JsonOptions) -> GrammarRules:
    """Rules for the texts of a node, in which any text stands for each value inside."""
    return _NodeWriter(graph, options).write_node(node)


class _GraphWriter:
    """A node that is named once is written where it is named; what is named more often, or stands deep, is a rule."""

    def __init__(self, graph: SchemaGraph, options: JsonOptions) -> None:
        self._graph = graph
        self._uses = _uses(graph)
        self._named: dict[NodeId, Rule] = {}
        self._leaves: dict[Shape, Rule] = {}
        self._waiting: list[NodeId] = []
        self._depth = 0
        self._scribe = Scribe(options, self._value)
        self._rules = self._scribe.rules

    def write(self) -> GrammarRules:
        root = self._value(self._graph.root)
        for node in self._waiting:  # grows on the way
            self._rules.define(self._named[node], self._node(node))
        return self._rules.finish(root)

    def _value(self, node: NodeId) -> Expression:
        """A node's values, or the rule of them."""
        if node not in self._named:
            if self._uses[node] == 1 and self._depth < MAX_DEPTH:
                return self._node(node)
            if all(
                isinstance(shape, NullShape | BooleanShape | NumberShape | StringShape)
                for shape in self._graph.nodes[node]
            ):
                return self._node(node)
            path = self._graph.paths.get(node, "")
            self._named[node] = self._rules.reserve(path.rpartition("/")[2] or "value")
            self._waiting.append(node)
        return self._named[node]

    def _node(self, node: NodeId) -> Expression:
        depth, self._depth = self._depth, self._depth + 1
        try:
            return any_of(self._shape(shape) for shape in self._graph.nodes[node])
        except (UnwritableError, TooLargeError) as error:
            raise UnenforcedError([Refusal(self._graph.paths.get(node, ""), str(error))]) from None
        finally:
            self._depth = depth

    def _shape(self, shape: Shape) -> Expression:
        if isinstance(shape, NullShape):
            return Text("null")
        if isinstance(shape, BooleanShape):
            return any_of(
                Text(text) for value, text in ((True, "true"), (False, "false")) if shape.value in (value, None)
            )
        if isinstance(shape, ArrayShape):
            return array(shape, self._scribe)
        if isinstance(shape, ObjectShape):
            return object_(shape, self._scribe)
        if shape.values is not None and len(shape.values) <= FEW_VALUES:
            return number(shape, self._rules) if isinstance(shape, NumberShape) else string(shape, self._scribe)
        if shape not in self._leaves:
            if isinstance(shape, NumberShape):
                written, name = number(shape, self._rules), "integer" if shape.integer else "number"
            else:
                written, name = string(shape, self._scribe), "string"
            self._leaves[shape] = self._rules.add(written, name)
        return self._leaves[shape]


class _NodeWriter(_GraphWriter):
    """Writes no node within another."""

    def write_node(self, node: NodeId) -> GrammarRules:
        return self._rules.finish(self._node(node))

    def _value(self, node: NodeId) -> Expression:
        return Text("null")


def _uses(graph: SchemaGraph) -> dict[NodeId, int]:
    """How often each node is named by those that the root reaches; the root once by itself."""
    uses = {graph.root: 1}
    for node in (waiting := [graph.root]):
        for shape in graph.nodes[node]:
            for named in _named(shape):
                if named not in uses:
                    waiting.append(named)
                uses[named] = uses.get(named, 0) + 1
    return uses


def _named(shape: Shape) -> Iterator[NodeId]:
    """The nodes that a shape names."""
    if isinstance(shape, ArrayShape):
        yield from shape.distinct or ()
        yield from shape.prefix
        if shape.contained is not None:
            yield from (shape.contained.inside, shape.contained.outside)
        elif shape.rest is not None:
            yield shape.rest
    elif isinstance(shape, ObjectShape):
        yield from (one.node for one in shape.properties)
        yield from (one.node for one in shape.others)
