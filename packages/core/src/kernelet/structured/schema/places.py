"""Where a schema asks for what not every engine has."""

from __future__ import annotations

from collections.abc import Iterator

from kernelet.structured.components import circles
from kernelet.structured.schema.read import children
from kernelet.structured.schema.shapes import ArrayShape, NodeId, ObjectShape, SchemaGraph, Shape, StringShape


def endless(graph: SchemaGraph) -> tuple[str, bool] | None:
    """The first place whose values have parts of their own kind, and whether that is because they are any values.

    Returns:
        A JSON pointer, which is that of the object or list where further parts are any values; None: there is none.
    """
    edges = {node: [each for shape in shapes for each in children(shape)] for node, shapes in enumerate(graph.nodes)}
    inside = {node for circle in circles(edges) for node in circle}
    for node, parent in _reached(edges, graph.root):
        if node in inside:
            is_any = len({type(shape) for shape in graph.nodes[node]}) > len(("array", "object"))
            return graph.paths.get(parent if is_any else node, ""), is_any
    return None


def most_repeated(graph: SchemaGraph, most: int) -> str | None:
    """The first place that asks for more than so many parts; None: there is none."""
    edges = {node: [each for shape in shapes for each in children(shape)] for node, shapes in enumerate(graph.nodes)}
    for node, _ in _reached(edges, graph.root):
        if any(_largest(shape) > most for shape in graph.nodes[node]):
            return graph.paths.get(node, "")
    return None


def _reached(edges: dict[NodeId, list[NodeId]], root: NodeId) -> Iterator[tuple[NodeId, NodeId]]:
    """Nodes, the nearest first, with who names them."""
    found = {root: root}
    for node in (waiting := [root]):
        yield node, found[node]
        new = [each for each in dict.fromkeys(edges[node]) if each not in found]
        found.update(dict.fromkeys(new, node))
        waiting += new


def _largest(shape: Shape) -> int:
    if isinstance(shape, StringShape):
        return shape.max_length or shape.min_length
    if isinstance(shape, ArrayShape):
        return shape.max_items or shape.min_items
    if isinstance(shape, ObjectShape):
        return shape.max_properties or shape.min_properties
    return 0
