"""Keywords that combine schemas about the same value."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from types import MappingProxyType
from typing import Final, Protocol

from kernelet.structured.schema.algebra import clauses as algebra
from kernelet.structured.schema.algebra.clauses import FALSE, TRUE, Clauses
from kernelet.structured.schema.algebra.facts import Has, Member
from kernelet.structured.schema.algebra.terms import ALWAYS, NEVER, Literal, opposite
from kernelet.structured.schema.keywords.objects import ASKED
from kernelet.structured.schema.keywords.site import Site
from kernelet.structured.schema.keywords.values import const_clauses, enum_clauses, type_clauses
from kernelet.structured.schema.values import Type


def branches(site: Site) -> list[Literal]:
    """The schemas of a list."""
    return [site.inside(index) for index in range(len(site.value))]


def target(site: Site) -> Literal:
    """What ``$ref`` or ``$dynamicRef`` leads to."""
    document, term = site.reading.document, site.term
    if site.name == "$ref":
        return site.reading.literal(document.resolve(site.value, term.pointer, site.name), term.scope)
    return site.reading.literal(document.resolve_dynamic(site.value, term.pointer, term.scope), term.scope)


def conditions(site: Site) -> tuple[Literal, Literal, Literal]:
    """``if``, ``then`` and ``else``."""
    then, otherwise = (site.beside(name).inside() if name in site.schema else ALWAYS for name in ("then", "else"))
    return site.inside(), then, otherwise


def _all(site: Site, literals: list[Literal], kind: Type) -> Clauses:
    if NEVER in site.reading.key(literals):
        return FALSE
    return site.reading.both([site.reading.clauses(literal, kind) for literal in literals], kind, site.path)


def _any(site: Site, literals: list[Literal], kind: Type) -> Clauses:
    return algebra.either(*(site.reading.clauses(literal, kind) for literal in literals))


def _reference(site: Site, kind: Type, *, positive: bool) -> Clauses:
    literal = target(site)
    return site.reading.clauses(literal if positive else opposite(literal), kind)


def _all_of(site: Site, kind: Type, *, positive: bool) -> Clauses:
    literals = branches(site)
    return _all(site, literals, kind) if positive else _any(site, [opposite(each) for each in literals], kind)


def _any_of(site: Site, kind: Type, *, positive: bool) -> Clauses:
    literals = branches(site)
    return _any(site, literals, kind) if positive else _all(site, [opposite(each) for each in literals], kind)


def others_excluded(site: Site, literals: list[Literal], index: int, kind: Type) -> list[Literal]:
    """What must hold besides one of the literals so that none of the others holds; without what follows from it."""
    one = literals[index]
    others = [other for position, other in enumerate(literals) if position != index]
    return [opposite(other) for other in others if not site.reading.are_disjoint(one, other, kind)]


def _one_of(site: Site, kind: Type, *, positive: bool) -> Clauses:
    literals = branches(site)
    if positive:
        ways = [[one, *others_excluded(site, literals, index, kind)] for index, one in enumerate(literals)]
        return algebra.either(*(_all(site, way, kind) for way in ways))
    none = _all(site, [opposite(literal) for literal in literals], kind)
    return algebra.either(none, *(_all(site, list(pair), kind) for pair in combinations(literals, 2)))


def _not(site: Site, kind: Type, *, positive: bool) -> Clauses:
    return site.reading.clauses(opposite(site.inside()) if positive else site.inside(), kind)


def _if(site: Site, kind: Type, *, positive: bool) -> Clauses:
    condition, then, otherwise = conditions(site)
    if not positive:
        then, otherwise = opposite(then), opposite(otherwise)
    yes, no = _all(site, [condition, then], kind), _all(site, [opposite(condition), otherwise], kind)
    return algebra.either(yes, no)


def has_property(site: Site, index: int, name: str) -> Clauses:
    """There is a property that something depends on."""
    return algebra.conjunction([Has(name, site.order(ASKED, index))])


def lacks_property(site: Site, index: int, name: str) -> Clauses:
    """There is none."""
    return algebra.conjunction([Member(name, NEVER, site.order(ASKED, index))])


def _dependent(site: Site, kind: Type, *, positive: bool) -> Clauses:
    """``dependentRequired``, ``dependentSchemas`` and ``dependencies``."""
    if kind != "object":
        return TRUE if positive else FALSE
    parts: list[Clauses] = []
    for index, (name, needed) in enumerate(site.value.items()):
        if isinstance(needed, list):
            facts = [Has(other, site.order(ASKED, index)) for other in needed]
            then = algebra.conjunction(facts) if positive else algebra.negated(facts)
        else:
            literal = site.inside(name)
            then = site.reading.clauses(literal if positive else opposite(literal), kind)
        way = site.reading.both([has_property(site, index, name), then], kind, site.path)
        parts.append(algebra.either(lacks_property(site, index, name), way) if positive else way)
    return site.reading.both(parts, kind, site.path) if positive else algebra.either(*parts)


def _of_another(site: Site, kind: Type, *, positive: bool) -> Clauses:
    """Part of what ``if`` says."""
    del site, kind
    return TRUE if positive else FALSE


class Combiner(Protocol):
    """Reads a keyword for any type."""

    def __call__(self, site: Site, kind: Type, *, positive: bool) -> Clauses: ...


COMBINERS: Final[Mapping[str, Combiner]] = MappingProxyType(
    {
        "type": type_clauses,
        "const": const_clauses,
        "enum": enum_clauses,
        "$ref": _reference,
        "$dynamicRef": _reference,
        "allOf": _all_of,
        "anyOf": _any_of,
        "oneOf": _one_of,
        "not": _not,
        "if": _if,
        "then": _of_another,
        "else": _of_another,
        "dependentSchemas": _dependent,
        "dependentRequired": _dependent,
        "dependencies": _dependent,
    }
)
