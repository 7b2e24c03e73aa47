"""Reads a schema: its meaning, whole and exact, or why not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from kernelet.structured.refusal import Refusal, UnenforcedError
from kernelet.structured.schema.dialects import Dialect
from kernelet.structured.schema.document import Document
from kernelet.structured.schema.empty import place_without_values
from kernelet.structured.schema.graph import Builder
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.schema.productive import can_have_values, pruned
from kernelet.structured.schema.shapes import (
    ArrayShape,
    BooleanShape,
    Node,
    NodeId,
    NumberShape,
    ObjectShape,
    SchemaGraph,
    Shape,
    StringShape,
)


def read_schema(schema: object, options: JsonOptions | None = None, dialect: Dialect | None = None) -> SchemaGraph:
    """The values that a schema allows.

    Args:
        schema: As ``json.loads`` gives it.
        options: Of the text; what they say of further properties matters here.
        dialect: None: as ``$schema`` says, else draft 2020-12.

    Raises:
        InvalidConstraintError: it is no schema.
        UnenforcedError: with every place that cannot be enforced, as far as they can be told.
    """
    document = Document(schema, dialect)
    builder = Builder(document, closed=options is not None and options.additional_properties is False)
    root = builder.node(builder.reading.key([builder.reading.literal("", ())]), "")
    shapes, refusals = _reached(builder, root)
    alive = _alive(shapes, refusals)
    kept = {node: _merged(_pruned(shapes[node], alive)) for node in shapes}
    numbers = {node: number for number, node in enumerate(_order(kept, root))}
    found = {refusal: None for node in numbers for refusal in refusals.get(node, ())}
    if found:
        raise UnenforcedError(list(found))
    return SchemaGraph(
        nodes=[tuple(_renumbered(shape, numbers) for shape in kept[node]) for node in numbers],
        root=0,
        paths={number: builder.paths[node] for node, number in numbers.items()},
        empty=None if root in alive else place_without_values(builder),
    )


def _reached(builder: Builder, root: NodeId) -> tuple[dict[NodeId, Node], dict[NodeId, tuple[Refusal, ...]]]:
    """Shapes and refusals of all nodes that the root may lead to."""
    shapes: dict[NodeId, Node] = {}
    refusals: dict[NodeId, tuple[Refusal, ...]] = {}
    left = [root]
    while left:
        node = left.pop()
        if node in shapes:
            continue
        meaning = builder.meaning(node)
        shapes[node] = meaning.shapes
        if meaning.refusals:
            refusals[node] = meaning.refusals
        left += [child for shape in meaning.shapes for child in children(shape)]
    return shapes, refusals


def _alive(shapes: dict[NodeId, Node], refusals: dict[NodeId, tuple[Refusal, ...]]) -> set[NodeId]:
    """Nodes that allow some finite value, or may."""
    alive = set(refusals)
    growing = True
    while growing:
        growing = False
        for node in reversed(shapes):
            if node not in alive and any(can_have_values(one, lambda each: each not in alive) for one in shapes[node]):
                alive.add(node)
                growing = True
    return alive


def _pruned(shapes: Node, alive: set[NodeId]) -> Node:
    return tuple(left for shape in shapes if (left := pruned(shape, lambda node: node not in alive)) is not None)


def _merged(shapes: Node) -> Node:
    """With one shape for all that are lists of values: of numbers one for those that are written as integers only."""
    numbers = [shape for shape in shapes if isinstance(shape, NumberShape) and shape.values is not None]
    texts = [shape for shape in shapes if isinstance(shape, StringShape) and shape.values is not None]
    truths = [shape for shape in shapes if isinstance(shape, BooleanShape)]
    listed: list[Shape] = [*numbers, *texts, *truths]
    found: list[Shape] = [shape for shape in shapes if shape not in listed]
    if truths:
        values = {shape.value for shape in truths}
        found.insert(0, BooleanShape(value=next(iter(values)) if len(values) == 1 else None))
    others = frozenset[Fraction]().union(*(shape.values or () for shape in numbers if not shape.integer))
    integers = frozenset[Fraction]().union(*(shape.values or () for shape in numbers if shape.integer)) - others
    found += [NumberShape(integer=True, values=integers)] * bool(integers)
    found += [NumberShape(values=others)] * bool(others)
    if texts:
        found.append(StringShape(values=frozenset().union(*(shape.values or () for shape in texts))))
    return tuple(found)


def children(shape: Shape) -> Iterator[NodeId]:
    """The nodes that a shape names."""
    match shape:
        case ArrayShape():
            yield from shape.prefix
            if shape.rest is not None and shape.distinct is None:
                yield shape.rest
            if shape.contained is not None:
                yield shape.contained.inside
                yield shape.contained.outside
            yield from shape.distinct or ()
        case ObjectShape():
            yield from (each.node for each in shape.properties)
            yield from (each.node for each in shape.others)
        case _:
            pass


def _order(shapes: dict[NodeId, Node], root: NodeId) -> list[NodeId]:
    """Nodes that the root leads to, it first."""
    found = {root: None}
    left = [root]
    while left:
        for node in (child for shape in shapes[left.pop()] for child in children(shape)):
            if node not in found:
                found[node] = None
                left.append(node)
    return list(found)


def _renumbered(shape: Shape, numbers: dict[NodeId, int]) -> Shape:
    match shape:
        case ArrayShape(contained=contained, distinct=distinct):
            return replace(
                shape,
                prefix=tuple(numbers[node] for node in shape.prefix),
                rest=None if shape.rest is None or distinct is not None else numbers[shape.rest],
                contained=contained
                and replace(contained, inside=numbers[contained.inside], outside=numbers[contained.outside]),
                distinct=None if distinct is None else tuple(numbers[node] for node in distinct),
            )
        case ObjectShape():
            return replace(
                shape,
                properties=tuple(replace(each, node=numbers[each.node]) for each in shape.properties),
                others=tuple(replace(each, node=numbers[each.node]) for each in shape.others),
            )
        case _:
            return shape
