"""Why a schema allows nothing: the part of it that no value satisfies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from kernelet.structured.refusal import UnenforcedError
from kernelet.structured.schema.dialects import Dialect, escape, hides_siblings
from kernelet.structured.schema.graph import Builder
from kernelet.structured.schema.values import fraction_of, is_number


def place_without_values(builder: Builder) -> str | None:
    """The innermost schema that the root cannot do without and that no value satisfies, by its pointer.

    Returns:
        None: it is not certain of the root itself, as where each value holds another one without end.
    """
    if not _is_empty(builder, ""):
        return None
    place, passed = "", {""}
    while True:
        inside = (each for each in _needed(builder, place) if each not in passed and _is_empty(builder, each))
        following = next(inside, None)
        if following is None:
            return place
        place = following
        passed.add(place)


def _is_empty(builder: Builder, pointer: str) -> bool:
    return builder.is_empty(builder.reading.key([builder.reading.literal(pointer, ())]))


def _needed(builder: Builder, pointer: str) -> Iterator[str]:
    """Schemas of which each must allow something, or there is no value of the schema that they stand in."""
    document = builder.reading.document
    schema = document[pointer].schema
    if not isinstance(schema, dict):
        return
    if isinstance(schema.get("$ref"), str):
        with suppress(UnenforcedError):  # out of the document: what stands beside it allows nothing already
            yield document.resolve(schema["$ref"], pointer, "$ref")
        if hides_siblings(schema, document.dialect):
            return
    yield from (f"{pointer}/allOf/{place}" for place in range(len(schema.get("allOf", ()))))
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        yield from (f"{pointer}/properties/{escape(name)}" for name in schema.get("required", ()) if name in properties)
    if schema.get("type") == "array":
        yield from _needed_items(schema, pointer, document.dialect)


def _needed_items(schema: dict[str, Any], pointer: str, dialect: Dialect) -> Iterator[str]:
    least = fraction_of(schema["minItems"]) if is_number(schema.get("minItems")) else 0
    listed = "prefixItems" if dialect is Dialect.DRAFT_2020_12 else "items"
    first = schema.get(listed, ())
    first = first if isinstance(first, list) else ()
    yield from (f"{pointer}/{listed}/{place}" for place in range(len(first)) if place < least)
    if "items" in schema and not isinstance(schema["items"], list) and len(first) < least:
        yield f"{pointer}/items"
    if "contains" in schema and schema.get("minContains", 1) != 0:
        yield f"{pointer}/contains"
