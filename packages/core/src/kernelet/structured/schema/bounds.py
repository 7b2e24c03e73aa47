"""Where a schema asks for more than a grammar engine holds."""

from __future__ import annotations

from typing import Final

from kernelet.contracts.structured import GrammarEngineOffer
from kernelet.structured.components import circles
from kernelet.structured.refusal import Refusal
from kernelet.structured.rules import fits
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.schema.read import children
from kernelet.structured.schema.shapes import SchemaGraph
from kernelet.structured.schema.write.nodes import write_alone

ENDLESS: Final = (
    "a value here may hold values like itself, without end, as properties and items do of which nothing is said"
)


def beyond(graph: SchemaGraph, options: JsonOptions, offer: GrammarEngineOffer) -> list[Refusal]:
    """Places whose values an engine's bounds do not hold; what is too much of the schema as a whole has none.

    Args:
        graph: Of the schema.
        options: How values are written.
        offer: The engine's.
    """
    reasons = {} if offer.recursion else dict.fromkeys(_endless(graph), ENDLESS)
    for node in range(len(graph.nodes)) if offer.max_repeat is not None else ():
        reason = fits(offer, write_alone(graph, node, options))
        if reason is not None:
            reasons.setdefault(graph.paths.get(node, ""), reason)
    return [Refusal(path, reason) for path, reason in reasons.items()]


def _endless(graph: SchemaGraph) -> list[str]:
    """Where circles begin: their own places; of values of which nothing is said, those that hold them."""
    inside = {node: [each for shape in shapes for each in children(shape)] for node, shapes in enumerate(graph.nodes)}
    around = {node for circle in circles(inside) for node in circle}
    found = [graph.paths.get(graph.root, "")] if graph.root in around else []
    for holder in inside.keys() - around:
        entered = around.intersection(inside[holder])
        found += [graph.paths.get(node) or graph.paths.get(holder, "") for node in entered]
    return sorted(found)
