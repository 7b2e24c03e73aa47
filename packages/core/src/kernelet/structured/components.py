"""Circles in graphs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def components(graph: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """The strongly connected components; each after those that it leads to. Nodes that are no keys are left out."""
    found: list[list[Node]] = []
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    open_nodes: dict[Node, None] = {}
    for root in graph:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        open_nodes[root] = None
        path = [(root, iter(graph[root]))]
        while path:
            node, rest = path[-1]
            following = next(
                (each for each in rest if each in graph and (each not in number or each in open_nodes)), None
            )
            if following is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == number[node]:
                    found.append(_close(open_nodes, node))
            elif following in number:
                low[node] = min(low[node], number[following])
            else:
                number[following] = low[following] = len(number)
                open_nodes[following] = None
                path.append((following, iter(graph[following])))
    return found


def _close(open_nodes: dict[Node, None], first: Node) -> list[Node]:
    component = []
    while True:
        node, _ = open_nodes.popitem()
        component.append(node)
        if node == first:
            return component[::-1]


def circles(graph: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """The components that lead back to themselves."""
    return [each for each in components(graph) if len(each) > 1 or each[0] in graph[each[0]]]
