"""``type``, ``const`` and ``enum``."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from kernelet.structured.schema.algebra import clauses as algebra
from kernelet.structured.schema.algebra.clauses import FALSE, TRUE, Clauses
from kernelet.structured.schema.algebra.facts import (
    Fact,
    Has,
    Item,
    KeySet,
    Member,
    Members,
    Multiple,
    NoneOf,
    OneOf,
    SizeAtLeast,
    SizeAtMost,
    Truth,
)
from kernelet.structured.schema.algebra.terms import NEVER, ValueTerm
from kernelet.structured.schema.keywords.objects import GIVEN
from kernelet.structured.schema.keywords.site import Site
from kernelet.structured.schema.values import Type, Value, value_of

if TYPE_CHECKING:
    from kernelet.structured.schema.reading import Reading


def type_clauses(site: Site, kind: Type, *, positive: bool) -> Clauses:
    """Of ``type``."""
    names = site.value if isinstance(site.value, list) else [site.value]
    if kind == "number" and "integer" in names and "number" not in names:
        facts = [Multiple(Fraction(1))]
        return algebra.conjunction(facts) if positive else algebra.negated(facts)
    return TRUE if (kind in names) == positive else FALSE


def const_clauses(site: Site, kind: Type, *, positive: bool) -> Clauses:
    """Of ``const``."""
    return value_clauses(site.reading, value_of(site.value), kind, positive=positive)


def enum_clauses(site: Site, kind: Type, *, positive: bool) -> Clauses:
    """Of ``enum``."""
    values = [value for value in map(value_of, site.value) if value.type == kind]
    if kind in {"number", "string"}:
        contents: frozenset[Fraction | str] = frozenset(
            value.content for value in values if isinstance(value.content, Fraction | str)
        )
        if not contents:
            return FALSE if positive else TRUE
        return algebra.conjunction([OneOf(contents) if positive else NoneOf(contents)])
    parts = [value_clauses(site.reading, value, kind, positive=positive) for value in values]
    return algebra.either(*parts) if positive else site.reading.both(parts, kind, site.path)


def value_clauses(reading: Reading, value: Value, kind: Type, *, positive: bool) -> Clauses:
    """Exactly a value, or anything else."""
    if value.type != kind:
        return FALSE if positive else TRUE
    facts = _facts(reading, value)
    return algebra.conjunction(facts) if positive else algebra.negated(facts)


def _facts(reading: Reading, value: Value) -> list[Fact]:
    if isinstance(value.content, bool):
        return [Truth(value.content)]
    if isinstance(value.content, Fraction | str):
        return [OneOf(frozenset({value.content}))]
    facts: list[Fact] = []
    if value.type == "array":
        size = len(value.items)
        facts = [Item(index, reading.terms.literal(ValueTerm(item))) for index, item in enumerate(value.items)]
        facts += [SizeAtLeast(size)] if size else []
        facts += [SizeAtMost(size)]
    elif value.type == "object":
        for index, (name, member) in enumerate(value.members.items()):
            order = (GIVEN, 0, index)
            facts += [Has(name, order), Member(name, reading.terms.literal(ValueTerm(member)), order)]
        facts += [Members(KeySet(but=frozenset(value.members)), NEVER)]
    return facts
