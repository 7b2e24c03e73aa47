"""The values of a node, where they are few."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import product

from kernelet.structured.schema.finish.numbers import allows_number, least_common_multiple
from kernelet.structured.schema.shapes import (
    ArrayShape,
    BooleanShape,
    Node,
    NodeId,
    NullShape,
    NumberShape,
    ObjectShape,
    Shape,
    StringShape,
)
from kernelet.structured.schema.values import Value

MAX_NESTING = 4
"""Arrays and objects in each other."""

ShapesOf = Callable[[NodeId], Node | None]


def values_of(shapes: ShapesOf, node: NodeId, limit: int, depth: int = 0) -> tuple[Value, ...] | None:
    """All values of a node; None: there are more, or nobody can tell.

    Args:
        shapes: Of a node; None where they are not known.
        node: Whose values.
        limit: Most of them.
        depth: Of the node in the one first asked for.
    """
    found: dict[Value, None] = {}
    for shape in (shapes(node) if depth <= MAX_NESTING else None) or [None]:
        values = None if shape is None else _values(shapes, shape, limit, depth)
        if values is None:
            return () if shape is None and depth <= MAX_NESTING and shapes(node) == () else None
        found |= dict.fromkeys(values)
        if len(found) > limit:
            return None
    return tuple(found)


def _values(shapes: ShapesOf, shape: Shape, limit: int, depth: int) -> Iterable[Value] | None:
    match shape:
        case NullShape():
            return [Value("null", None)]
        case BooleanShape(value=value):
            return [Value("boolean", each) for each in (False, True) if value in {None, each}]
        case NumberShape():
            return _numbers(shape, limit)
        case StringShape(values=values):
            return None if values is None else [Value("string", text) for text in sorted(values)]
        case ArrayShape():
            return _arrays(shapes, shape, limit, depth)
        case ObjectShape():
            return _objects(shapes, shape, limit, depth)


def _numbers(shape: NumberShape, limit: int) -> list[Value] | None:
    if shape.values is not None:
        return [Value("number", number) for number in sorted(shape.values)]
    if shape.minimum is None or shape.maximum is None:
        return None
    if shape.minimum == shape.maximum:
        return [Value("number", shape.minimum)] if allows_number(shape, shape.minimum) else []
    step = least_common_multiple(shape)
    if step is None:
        return None
    factors = range(math.ceil(shape.minimum / step), math.floor(shape.maximum / step) + 1)
    if len(factors) > 4 * limit:
        return None
    return [Value("number", factor * step) for factor in factors if allows_number(shape, factor * step)]


def _limited(values: Iterator[Value], limit: int) -> list[Value] | None:
    found: list[Value] = []
    for value in values:
        if len(found) == limit:
            return None
        found.append(value)
    return found


def _arrays(shapes: ShapesOf, shape: ArrayShape, limit: int, depth: int) -> list[Value] | None:
    if shape.rest is not None or shape.distinct is not None:
        return None
    items = [values_of(shapes, node, limit, depth + 1) for node in shape.prefix]
    known = [values for values in items if values is not None]
    if len(known) < len(items):
        return None
    high = len(known) if shape.max_items is None else min(shape.max_items, len(known))
    sizes = range(shape.min_items, high + 1)
    return _limited((Value("array", chosen) for size in sizes for chosen in product(*known[:size])), limit)


def _objects(shapes: ShapesOf, shape: ObjectShape, limit: int, depth: int) -> list[Value] | None:
    if shape.others:
        return None
    choices: list[list[tuple[str, Value] | None]] = []
    for each in shape.properties:
        values = values_of(shapes, each.node, limit, depth + 1)
        if values is None:
            return None
        choices.append([*((each.name, value) for value in values), *([] if each.required else [None])])

    def objects() -> Iterator[Value]:
        for chosen in product(*choices):
            members = [member for member in chosen if member is not None]
            if len(members) >= shape.min_properties and len(members) <= (shape.max_properties or len(members)):
                names = tuple(name for name, _ in members)
                yield Value("object", tuple(sorted(members, key=lambda member: member[0])), names)

    return _limited(objects(), limit) if math.prod(map(len, choices)) <= 1000 * limit else None
