"""Which nodes allow any value, and the graph without the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kernelet.structured.schema.shapes import ArrayShape, NodeId, ObjectShape, Shape


def can_have_values(shape: Shape, is_empty: Callable[[NodeId], bool]) -> bool:
    """Whether a shape allows some value, if those nodes are empty and no others."""
    return pruned(shape, is_empty) is not None


def pruned(shape: Shape, is_empty: Callable[[NodeId], bool]) -> Shape | None:
    """A shape without the parts that no value can have; None: no value at all has the shape."""
    match shape:
        case ArrayShape():
            return _pruned_array(shape, is_empty)
        case ObjectShape():
            return _pruned_object(shape, is_empty)
        case _:
            return shape


def _pruned_array(shape: ArrayShape, is_empty: Callable[[NodeId], bool]) -> ArrayShape | None:
    if shape.distinct is not None:
        return shape
    prefix, rest, contained = shape.prefix, shape.rest, shape.contained
    low, high = shape.min_items, shape.max_items
    first_empty = next((index for index, node in enumerate(prefix) if is_empty(node)), None)
    if first_empty is not None:
        prefix, rest = prefix[:first_empty], None
    if rest is not None and is_empty(rest):
        rest = None
    if contained is not None and (rest is None or is_empty(contained.inside)):
        if contained.minimum:
            return None
        contained = None
    elif contained is not None and is_empty(contained.outside):
        low = max(low, len(prefix) + contained.minimum)
        if contained.maximum is not None:
            high = min(high or len(prefix) + contained.maximum, len(prefix) + contained.maximum)
        contained = None
    if rest is None:
        high = None if high is None or high >= len(prefix) else high
        if low > len(prefix):
            return None
    if high is not None and low > high:
        return None
    return replace(shape, prefix=prefix, rest=rest, min_items=low, max_items=high, contained=contained)


def _pruned_object(shape: ObjectShape, is_empty: Callable[[NodeId], bool]) -> ObjectShape | None:
    empty = {each.name for each in shape.properties if is_empty(each.node)}
    if any(each.required and each.name in empty for each in shape.properties):
        return None
    properties = tuple(each for each in shape.properties if each.name not in empty)
    others = tuple(each for each in shape.others if not is_empty(each.node))
    if not others and shape.min_properties > len(properties):
        return None
    return replace(shape, properties=properties, others=others)
