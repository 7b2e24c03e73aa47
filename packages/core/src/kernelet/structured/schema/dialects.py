"""The versions of JSON Schema that are read, and the form that each keyword's value has in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from kernelet.structured.refusal import Refusal, UnenforcedError


class Form(Enum):
    """What the value of a keyword must be; the value says it in words."""

    SCHEMA = "a schema (an object, true or false)"
    SCHEMAS = "a list of schemas, at least one"
    NAMED_SCHEMAS = "an object whose values are schemas"
    PATTERN_SCHEMAS = "an object whose names are regular expressions and whose values are schemas"
    ONE_OR_MORE_SCHEMAS = "a schema or a list of schemas"
    DEPENDENCIES = "an object whose values are schemas or lists of texts"
    NAMED_NAMES = "an object whose values are lists of texts"
    NAMES = "a list of texts"
    COUNT = "a whole number, 0 or more"
    NUMBER = "a number"
    DIVISOR = "a number above 0"
    BOOLEAN = "true or false"
    TEXT = "a text"
    PATTERN = "a regular expression"
    TYPES = "one of array, boolean, integer, null, number, object, string, or a list of them"
    VALUES = "a list of values"
    VALUE = "any value"


class Dialect(Enum):
    """A version of JSON Schema; the value is its address."""

    DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"
    DRAFT_7 = "http://json-schema.org/draft-07/schema"


_COMMON: Final = {
    "$id": Form.TEXT,
    "$schema": Form.TEXT,
    "$ref": Form.TEXT,
    "type": Form.TYPES,
    "const": Form.VALUE,
    "enum": Form.VALUES,
    "multipleOf": Form.DIVISOR,
    "maximum": Form.NUMBER,
    "exclusiveMaximum": Form.NUMBER,
    "minimum": Form.NUMBER,
    "exclusiveMinimum": Form.NUMBER,
    "maxLength": Form.COUNT,
    "minLength": Form.COUNT,
    "pattern": Form.PATTERN,
    "format": Form.TEXT,
    "maxItems": Form.COUNT,
    "minItems": Form.COUNT,
    "uniqueItems": Form.BOOLEAN,
    "contains": Form.SCHEMA,
    "maxProperties": Form.COUNT,
    "minProperties": Form.COUNT,
    "required": Form.NAMES,
    "properties": Form.NAMED_SCHEMAS,
    "patternProperties": Form.PATTERN_SCHEMAS,
    "additionalProperties": Form.SCHEMA,
    "propertyNames": Form.SCHEMA,
    "if": Form.SCHEMA,
    "then": Form.SCHEMA,
    "else": Form.SCHEMA,
    "allOf": Form.SCHEMAS,
    "anyOf": Form.SCHEMAS,
    "oneOf": Form.SCHEMAS,
    "not": Form.SCHEMA,
    "definitions": Form.NAMED_SCHEMAS,
}
KEYWORDS: Final[Mapping[Dialect, Mapping[str, Form]]] = MappingProxyType(
    {
        Dialect.DRAFT_2020_12: MappingProxyType(
            {
                **_COMMON,
                "$anchor": Form.TEXT,
                "$dynamicAnchor": Form.TEXT,
                "$dynamicRef": Form.TEXT,
                "$defs": Form.NAMED_SCHEMAS,
                "items": Form.SCHEMA,
                "prefixItems": Form.SCHEMAS,
                "minContains": Form.COUNT,
                "maxContains": Form.COUNT,
                "dependentRequired": Form.NAMED_NAMES,
                "dependentSchemas": Form.NAMED_SCHEMAS,
                "unevaluatedItems": Form.SCHEMA,
                "unevaluatedProperties": Form.SCHEMA,
            }
        ),
        Dialect.DRAFT_7: MappingProxyType(
            {
                **_COMMON,
                "$defs": Form.NAMED_SCHEMAS,
                "items": Form.ONE_OR_MORE_SCHEMAS,
                "additionalItems": Form.SCHEMA,
                "dependencies": Form.DEPENDENCIES,
            }
        ),
    }
)
"""Of each dialect. All other keywords say nothing about values."""

RETIRED: Final[Mapping[Dialect, Mapping[str, str]]] = MappingProxyType(
    {
        Dialect.DRAFT_2020_12: MappingProxyType(
            {
                "dependencies": "draft 2020-12 has dependentRequired and dependentSchemas instead",
                "$recursiveRef": "draft 2020-12 has $dynamicRef instead",
            }
        ),
        Dialect.DRAFT_7: MappingProxyType({}),
    }
)
"""Keywords of older dialects that a newer one does not have: who writes them means something by them."""

_HOLDERS: Final = {
    Form.SCHEMA,
    Form.SCHEMAS,
    Form.NAMED_SCHEMAS,
    Form.PATTERN_SCHEMAS,
    Form.ONE_OR_MORE_SCHEMAS,
    Form.DEPENDENCIES,
}


def dialect_of(schema: object, default: Dialect, path: str = "") -> Dialect:
    """By ``$schema``.

    Raises:
        UnenforcedError: it names a version that is not read.
    """
    named = schema.get("$schema") if isinstance(schema, dict) else None
    if not isinstance(named, str):
        return default
    for dialect in Dialect:
        if named.rstrip("#").removeprefix("https:").removeprefix("http:") == dialect.value.partition(":")[2]:
            return dialect
    known = " and ".join(dialect.value for dialect in Dialect)
    raise UnenforcedError([Refusal(f"{path}/$schema", f"{named!r} is not read, {known} are")])


def hides_siblings(schema: Mapping[str, Any], dialect: Dialect) -> bool:
    """Whether ``$ref`` stands alone, whatever is beside it."""
    return dialect is Dialect.DRAFT_7 and isinstance(schema.get("$ref"), str)


def escape(token: str) -> str:
    """A name as it stands in a JSON pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def subschemas(schema: object, pointer: str, dialect: Dialect) -> Iterator[tuple[str, Any]]:
    """The schemas right inside of one, with their places, also those that a hiding ``$ref`` is beside."""
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        form = KEYWORDS[dialect].get(keyword)
        if form not in _HOLDERS:
            continue
        at = f"{pointer}/{escape(keyword)}"
        if isinstance(value, dict) and form is not Form.SCHEMA and form is not Form.ONE_OR_MORE_SCHEMAS:
            for name, one in value.items():
                if not isinstance(one, list):
                    yield f"{at}/{escape(name)}", one
        elif isinstance(value, list):
            for index, one in enumerate(value):
                yield f"{at}/{index}", one
        else:
            yield at, value
