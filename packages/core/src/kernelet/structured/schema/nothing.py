"""Where a schema allows no value, so that its whole does not either."""

from __future__ import annotations

from collections.abc import Iterator

from kernelet.structured.schema.dialects import Dialect
from kernelet.structured.schema.document import Document
from kernelet.structured.schema.graph import Builder


def where_nothing_is(document: Document, builder: Builder) -> str:
    """The innermost schema without values that each value of those around it would need one of.

    Args:
        document: Its root has no values.
        builder: Of the document.
    """
    pointer, seen = "", set[str]()
    while pointer not in seen:
        seen.add(pointer)
        dead = (one for one in _needed(document, pointer) if _is_empty(builder, one))
        pointer = next(dead, pointer)
    return pointer


def _is_empty(builder: Builder, pointer: str) -> bool:
    return builder.is_empty(builder.reading.key([builder.reading.literal(pointer, ())]))


def _needed(document: Document, pointer: str) -> Iterator[str]:
    """The schemas below one that each of its values satisfies, or has a part that does."""
    schema = document[pointer].schema
    if isinstance(schema, bool):
        return
    least = schema.get("minItems", 0)
    prefix = "prefixItems" if document.dialect is Dialect.DRAFT_2020_12 else "items"
    first = schema.get(prefix) if isinstance(schema.get(prefix), list) else []
    names = [name.replace("~", "~0").replace("/", "~1") for name in schema.get("required", ())]
    inner = [f"properties/{name}" for name in names]
    inner += [f"{prefix}/{index}" for index in range(min(int(least), len(first)))]
    inner += ["items"] * (least > len(first)) + [f"allOf/{index}" for index in range(len(schema.get("allOf", ())))]
    yield from (place for each in inner if (place := f"{pointer}/{each}") in document.places)
    if isinstance(reference := schema.get("$ref"), str):
        yield document.resolve(reference, pointer, "$ref")
