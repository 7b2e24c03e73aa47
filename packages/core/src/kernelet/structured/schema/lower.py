"""Schemas become rules."""

from __future__ import annotations

from kernelet.contracts.structured import GrammarRules
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.schema.read import read_schema
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
    return write_graph(read_schema(schema, options), options)
