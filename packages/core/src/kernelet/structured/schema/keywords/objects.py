"""Keywords about objects."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kernelet.structured.automata.syntax import ANY, EVERYTHING, NOTHING, both, complement, literal, repeat, union
from kernelet.structured.refusal import Refusal, UnenforcedError
from kernelet.structured.schema.algebra.clauses import FALSE, TRUE, Clause
from kernelet.structured.schema.algebra.facts import (
    Fact,
    Format,
    Has,
    KeySet,
    Matches,
    Member,
    Members,
    NoneOf,
    OneOf,
    Refused,
    SizeAtLeast,
    SizeAtMost,
)
from kernelet.structured.schema.algebra.terms import NEVER
from kernelet.structured.schema.dialects import escape
from kernelet.structured.schema.formats import language_of
from kernelet.structured.schema.keywords.scalars import Reader, at_least_size, at_most_size
from kernelet.structured.schema.keywords.site import Site

if TYPE_CHECKING:
    from kernelet.structured.automata.syntax import Regex

WRITTEN, GIVEN, ASKED = 0, 1, 2
"""Kinds of places where names stand: in ``properties``, in a constant, elsewhere."""


def _properties(site: Site) -> list[Fact]:
    return [Member(name, site.inside(name), site.order(WRITTEN, index)) for index, name in enumerate(site.value)]


def patterns_of(site: Site) -> tuple[Regex, ...]:
    """Of ``patternProperties`` beside the site's keyword, or of itself."""
    if "patternProperties" not in site.schema:
        return ()
    beside = site.beside("patternProperties")
    return tuple(site.reading.pattern(text, f"{beside.path}/{escape(text)}") for text in beside.value)


def _pattern_properties(site: Site) -> list[Fact]:
    languages = zip(site.value, patterns_of(site), strict=True)
    return [Members(KeySet(inside=(language,)), site.inside(text), site.path) for text, language in languages]


def _further_properties(site: Site) -> list[Fact]:
    keys = KeySet(outside=patterns_of(site), but=frozenset(site.schema.get("properties", ())))
    return [Members(keys, site.inside(), site.path)]


def _required(site: Site) -> list[Fact]:
    return [Has(name, site.order(ASKED, index)) for index, name in enumerate(site.value)]


def _names(site: Site) -> list[Fact]:
    clauses = site.reading.clauses(site.inside(), "string")
    if clauses == TRUE:
        return []
    given = [fact.values if isinstance(fact, OneOf) else None for clause in clauses for fact in clause]
    if clauses == FALSE or (None not in given and all(len(clause) == 1 for clause in clauses)):
        names = frozenset(str(name) for values in given for name in values or ())
        return [Members(KeySet(but=names), NEVER, site.path)]
    language = union(*(_language(clause) for clause in clauses))
    return [Members(KeySet(outside=(language,)), NEVER, site.path)]


def _language(clause: Clause) -> Regex:
    """The texts that facts about strings allow.

    Raises:
        UnenforcedError: one of them is refused.
    """
    whole: list[Regex] = [EVERYTHING]
    for fact in clause:
        match fact:
            case SizeAtLeast(count):
                whole.append(repeat(ANY, count, None))
            case SizeAtMost(count):
                whole.append(repeat(ANY, 0, count))
            case Matches(language, inside):
                whole.append(language if inside else complement(language))
            case OneOf(values) | NoneOf(values):
                texts = union(NOTHING, *(literal(str(value)) for value in sorted(map(str, values))))
                whole.append(texts if isinstance(fact, OneOf) else complement(texts))
            case Format(name):
                whole.append(language_of(name))
            case Refused(path, reason):
                raise UnenforcedError([Refusal(path, reason)])
            case _:
                raise AssertionError(fact)
    return both(*whole)


OBJECTS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "minProperties": at_least_size,
        "maxProperties": at_most_size,
        "properties": _properties,
        "patternProperties": _pattern_properties,
        "additionalProperties": _further_properties,
        "required": _required,
        "propertyNames": _names,
    }
)
