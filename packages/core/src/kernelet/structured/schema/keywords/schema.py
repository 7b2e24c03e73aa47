"""What a whole schema says."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kernelet.structured.refusal import UnenforcedError
from kernelet.structured.schema.algebra import clauses as algebra
from kernelet.structured.schema.algebra.clauses import FALSE, TRUE, Clauses
from kernelet.structured.schema.algebra.facts import Refused
from kernelet.structured.schema.algebra.terms import SchemaTerm
from kernelet.structured.schema.keywords.arrays import ARRAYS
from kernelet.structured.schema.keywords.combine import COMBINERS
from kernelet.structured.schema.keywords.evaluated import UNEVALUATED, negative_notes, noted_schema
from kernelet.structured.schema.keywords.objects import OBJECTS
from kernelet.structured.schema.keywords.scalars import NUMBERS, STRINGS, Reader
from kernelet.structured.schema.keywords.site import Site
from kernelet.structured.schema.values import Type

if TYPE_CHECKING:
    from kernelet.structured.schema.reading import Reading

READERS: Final[Mapping[Type, Mapping[str, Reader]]] = MappingProxyType(
    {
        "null": MappingProxyType({}),
        "boolean": MappingProxyType({}),
        "number": NUMBERS,
        "string": STRINGS,
        "array": ARRAYS,
        "object": OBJECTS,
    }
)


def schema_clauses(reading: Reading, term: SchemaTerm, kind: Type, *, positive: bool) -> Clauses:
    """What the schema, or its opposite, says about values of a type."""
    unevaluated = UNEVALUATED.get(kind)
    sites = [Site(reading, term, keyword) for keyword in reading.asserting(term.pointer)]
    noted = next((site for site in sites if site.name == unevaluated), None)
    if noted is not None and positive:
        return algebra.either(*((clause,) for clause, _ in noted_schema(reading, term, kind, exact=False)))
    parts = [keyword_clauses(site, kind, positive=positive) for site in sites if site is not noted]
    if positive:
        return reading.both(parts, kind, term.pointer)
    if noted is not None:
        parts.append(negative_notes(noted, kind))
    return algebra.either(*parts)


def keyword_clauses(site: Site, kind: Type, *, positive: bool) -> Clauses:
    """What one keyword says."""
    refusal = site.reading.document.refusals.get(site.path)
    if refusal is not None:
        return algebra.conjunction([Refused(refusal.path, refusal.reason)])
    try:
        if site.name in COMBINERS:
            return COMBINERS[site.name](site, kind, positive=positive)
        if site.name not in READERS[kind]:
            return TRUE if positive else FALSE
        facts = READERS[kind][site.name](site)
    except UnenforcedError as error:
        return algebra.conjunction(Refused(each.path, each.reason) for each in error.refusals)
    return algebra.conjunction(facts) if positive else algebra.negated(facts)
