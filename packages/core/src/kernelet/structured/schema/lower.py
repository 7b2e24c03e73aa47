"""Schemas become rules."""

from __future__ import annotations

from kernelet.contracts.structured import GrammarEngineOffer, GrammarRules
from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError
from kernelet.structured.schema.bounds import beyond
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.schema.read import read_schema
from kernelet.structured.schema.shapes import SchemaGraph
from kernelet.structured.schema.write.nodes import write_graph


def lower_schema(schema: object, options: JsonOptions) -> GrammarRules:
    """Rules for the texts of all values that a schema allows.

    Args:
        schema: JSON, as ``json.loads`` makes it; ``{"type": "object"}`` for any object, True for any value.
        options: How values are written.

    Raises:
        InvalidConstraintError: it is no schema, or allows nothing.
        UnenforcedError: parts of it cannot be written; names all of them.
    """
    graph = read_schema(schema, options)
    if not graph.nodes[graph.root]:
        raise nothing_allowed(graph)
    return write_graph(graph, options)


def lower_within(offer: GrammarEngineOffer, schema: object, options: JsonOptions) -> GrammarRules:
    """``lower_schema``, for one engine.

    Raises:
        InvalidConstraintError: as there.
        UnenforcedError: as there, or with each place that is beyond the engine's bounds.
    """
    graph = read_schema(schema, options)
    if places := beyond(graph, options, offer):
        raise UnenforcedError(places)
    return write_graph(graph, options)


def nothing_allowed(graph: SchemaGraph) -> InvalidConstraintError:
    """What is said of a schema without values: the place that has none."""
    if graph.empty is None:
        return InvalidConstraintError("nothing is allowed: each value would have to hold another one, without end")
    return InvalidConstraintError("nothing is allowed: no value satisfies this schema", graph.empty)
