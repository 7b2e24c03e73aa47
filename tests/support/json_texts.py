"""The ways to write a JSON value, and what JSON-Schema-Test-Suite says of schemas."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

DRAFTS = {"draft2020-12": None, "draft7": "http://json-schema.org/draft-07/schema#"}


def groups(folder: Path, draft: str):
    """(file, description, schema, [(valid, value), ...]) of each group."""
    for path in sorted((folder / "tests" / draft).glob("*.json")):
        for group in json.loads(path.read_text(encoding="utf-8")):
            schema = group["schema"]
            if isinstance(schema, dict) and DRAFTS[draft] and "$schema" not in schema:
                schema = {"$schema": DRAFTS[draft], **schema}
            yield path.name, group["description"], schema, [(test["valid"], test["data"]) for test in group["tests"]]


def writings(value: object, schema: object) -> list[str]:
    """Texts of a value: keys as given and in the schema's order, compact or spaced, escaped or not, 1.0 as 1."""
    order = {name: place for place, name in enumerate(names_of(schema))}
    found = {}
    for one, ascii_, spaced in itertools.product(
        (value, ordered(value, order), whole(value), whole(ordered(value, order))), (False, True), (False, True)
    ):
        separators = (", ", ": ") if spaced else (",", ":")
        found[json.dumps(one, ensure_ascii=ascii_, separators=separators)] = None
    return list(found)


def names_of(schema: object) -> list[str]:
    """Names of properties in the order in which a schema has them: of ``properties``, and in its values."""
    found = {}

    def look(part: object, *, is_value: bool = False) -> None:
        if isinstance(part, dict):
            properties = part if is_value else part.get("properties")
            found.update(dict.fromkeys(properties if isinstance(properties, dict) else ()))
            for name, each in part.items():
                look(each, is_value=is_value or name in {"const", "enum"})
        elif isinstance(part, list):
            for each in part:
                look(each, is_value=is_value)

    look(schema)
    return list(found)


def ordered(value: object, order: dict[str, int]) -> object:
    """The same with the keys that are named first, in their order."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda name: order.get(name, len(order)))
        return {name: ordered(value[name], order) for name in keys}
    return [ordered(item, order) for item in value] if isinstance(value, list) else value


def whole(value: object) -> object:
    """The same with 1 for 1.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {name: whole(one) for name, one in value.items()}
    return [whole(item) for item in value] if isinstance(value, list) else value
