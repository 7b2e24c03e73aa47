"""Walks every node of a schema: what is written there, and whether it is what the keyword asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from kernelet.structured.automata.budget import TooLargeError
from kernelet.structured.automata.parse import parse_pattern
from kernelet.structured.refusal import InvalidConstraintError, Refusal, UnenforcedError
from kernelet.structured.schema.dialects import (
    KEYWORDS,
    RETIRED,
    Dialect,
    Form,
    dialect_of,
    escape,
    hides_siblings,
    subschemas,
)
from kernelet.structured.schema.values import fraction_of, is_number

TYPE_NAMES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})

TUPLE: Final = ': write "prefixItems", or say "$schema": "http://json-schema.org/draft-07/schema#"'
"""What to do about a list of schemas that draft 2020-12 does not know."""


@dataclass(frozen=True)
class Site:
    """A keyword of a schema.

    Attributes:
        path: JSON pointer that ends with the keyword.
        keyword: Its name.
        form: What its value must be; None: it says nothing about values.
        value: What is written.
    """

    path: str
    keyword: str
    form: Form | None
    value: Any


def walk(schema: object, dialect: Dialect, pointer: str = "") -> Iterator[Site]:
    """Every keyword of a schema and of all schemas in it.

    Raises:
        InvalidConstraintError: there is something else where a schema belongs.
    """
    left: list[tuple[str, object]] = [(pointer, schema)]
    while left:
        at, one = left.pop()
        if isinstance(one, bool):
            continue
        if not isinstance(one, dict):
            raise InvalidConstraintError(f"{shown(one)} is not {Form.SCHEMA.value}", at)
        hidden = hides_siblings(one, dialect)
        for keyword, value in one.items():
            form = KEYWORDS[dialect].get(keyword) if not hidden or keyword == "$ref" else None
            yield Site(f"{at}/{escape(keyword)}", keyword, form, value)
        inside = list(subschemas(one, at, dialect))
        if hidden:
            inside = [each for each in inside if isinstance(each[1], dict | bool)]
        left += reversed(inside)


def check(schema: object, dialect: Dialect, pointer: str = "") -> list[Refusal]:
    """What is refused wherever it stands, after all else was found to be well-formed.

    Raises:
        InvalidConstraintError: names the first place that is not, and what is expected there.
    """
    refusals: list[Refusal] = []
    for site in walk(schema, dialect, pointer):
        if site.keyword in RETIRED[dialect]:
            refusals.append(Refusal(site.path, RETIRED[dialect][site.keyword]))
        if site.form is None:
            continue
        if not _CHECKS[site.form](site.value):
            instead = TUPLE if site.keyword == "items" and isinstance(site.value, list) else ""
            raise InvalidConstraintError(f"{shown(site.value)} is not {site.form.value}{instead}", site.path)
        if site.keyword == "$schema" and site.path != "/$schema":
            refusals += _other_dialect(site, dialect)
        if site.form is Form.PATTERN:
            refusals += _check_pattern(site.path, site.value)
        elif site.form is Form.PATTERN_SCHEMAS:
            refusals += [each for name in site.value for each in _check_pattern(f"{site.path}/{escape(name)}", name)]
    return refusals


def shown(value: object) -> str:
    """A value as a message shows it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _other_dialect(site: Site, dialect: Dialect) -> list[Refusal]:
    path = site.path.removesuffix("/$schema")
    try:
        found = dialect_of({"$schema": site.value}, dialect, path)
    except UnenforcedError as error:
        return list(error.refusals)
    return [] if found is dialect else [Refusal(site.path, "the whole schema has one dialect")]


def _check_pattern(path: str, pattern: str) -> list[Refusal]:
    """That a pattern is one; why it is not enforced."""
    try:
        parse_pattern(pattern)
    except InvalidConstraintError as error:
        raise InvalidConstraintError(str(error), path) from None
    except UnenforcedError as error:
        return [Refusal(path, str(each)) for each in error.refusals]
    except TooLargeError as error:
        return [Refusal(path, str(error))]
    return []


def _is_schema(value: object) -> bool:
    return isinstance(value, dict | bool)


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_count(value: object) -> bool:
    return is_number(value) and fraction_of(value) >= 0 and fraction_of(value).denominator == 1


def _are_types(value: object) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in TYPE_NAMES for name in names)


def _are_named(value: object, check_one: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(map(check_one, value.values()))


# a member that is no schema is found when it is walked, with its own path
_CHECKS: Final[dict[Form, Callable[[Any], bool]]] = {
    Form.SCHEMA: _is_schema,
    Form.SCHEMAS: lambda value: isinstance(value, list) and bool(value),
    Form.NAMED_SCHEMAS: lambda value: isinstance(value, dict),
    Form.PATTERN_SCHEMAS: lambda value: isinstance(value, dict),
    Form.ONE_OR_MORE_SCHEMAS: lambda value: isinstance(value, list) or _is_schema(value),
    Form.DEPENDENCIES: lambda value: _are_named(value, lambda one: not isinstance(one, list) or _are_names(one)),
    Form.NAMED_NAMES: lambda value: _are_named(value, _are_names),
    Form.NAMES: _are_names,
    Form.COUNT: _is_count,
    Form.NUMBER: is_number,
    Form.DIVISOR: lambda value: is_number(value) and fraction_of(value) > 0,
    Form.BOOLEAN: lambda value: isinstance(value, bool),
    Form.TEXT: lambda value: isinstance(value, str),
    Form.PATTERN: lambda value: isinstance(value, str),
    Form.TYPES: _are_types,
    Form.VALUES: lambda value: isinstance(value, list),
    Form.VALUE: lambda _: True,
}
