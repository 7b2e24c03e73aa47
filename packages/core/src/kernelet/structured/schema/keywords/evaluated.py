"""``unevaluatedItems`` and ``unevaluatedProperties``: alternatives that remember what they have looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kernelet.structured.refusal import Refusal, UnenforcedError
from kernelet.structured.schema.algebra import clauses as algebra
from kernelet.structured.schema.algebra.clauses import TRUE, Clause, Clauses
from kernelet.structured.schema.algebra.facts import Fact, Items, KeySet, Members
from kernelet.structured.schema.algebra.terms import Literal, SchemaTerm, opposite
from kernelet.structured.schema.keywords.arrays import num_first
from kernelet.structured.schema.keywords.combine import (
    branches,
    conditions,
    has_property,
    lacks_property,
    others_excluded,
    target,
)
from kernelet.structured.schema.keywords.objects import patterns_of
from kernelet.structured.schema.keywords.site import Site
from kernelet.structured.schema.values import Type

if TYPE_CHECKING:
    from kernelet.structured.automata.syntax import Regex
    from kernelet.structured.schema.reading import Reading

UNEVALUATED: Final[Mapping[Type, str]] = MappingProxyType(
    {"array": "unevaluatedItems", "object": "unevaluatedProperties"}
)
LOOKING: Final[Mapping[Type, frozenset[str]]] = MappingProxyType(
    {
        "array": frozenset({"prefixItems", "items", "contains", "unevaluatedItems"}),
        "object": frozenset({"properties", "patternProperties", "additionalProperties", "unevaluatedProperties"}),
    }
)
"""Keywords that look at items or properties."""
MAX_BRANCHES: Final = 8
"""Of one ``anyOf``: each set of them may be what holds."""


@dataclass(frozen=True)
class Seen:
    """The items or properties that were looked at.

    Attributes:
        everything: All.
        names: Properties of these names.
        patterns: Properties with names in these languages.
        first: So many items, from the first on.
        kinds: Items that satisfy any of these.
    """

    everything: bool = False
    names: frozenset[str] = frozenset()
    patterns: frozenset[Regex] = frozenset()
    first: int = 0
    kinds: frozenset[Literal] = frozenset()

    def __or__(self, other: Seen) -> Seen:
        return Seen(
            self.everything or other.everything,
            self.names | other.names,
            self.patterns | other.patterns,
            max(self.first, other.first),
            self.kinds | other.kinds,
        )

    def unseen(self, site: Site, kind: Type) -> list[Fact]:
        """What the site, one of the keywords for what was not looked at, says then."""
        if self.everything:
            return []
        if kind == "array":
            return [Items(self.first, site.reading.terms.any_of({site.inside(), *self.kinds}))]
        return [Members(KeySet(outside=tuple(self.patterns), but=self.names), site.inside(), site.path)]


NOTHING: Final = Seen()
EVERYTHING: Final = Seen(everything=True)
Note = tuple[Clause, Seen]


def noted_schema(reading: Reading, term: SchemaTerm, kind: Type, *, exact: bool, inner: bool = False) -> list[Note]:
    """What a schema says, by what it looks at.

    Args:
        reading: Of the document.
        term: The schema.
        kind: Array or object.
        exact: No value satisfies two notes that look at different things; else it may look at more than a note says.
        inner: Without the schema's own keyword for what was not looked at.
    """
    notes: list[Note] = [(frozenset(), NOTHING)]
    own: Site | None = None
    for keyword in reading.asserting(term.pointer):
        site = Site(reading, term, keyword)
        if keyword == UNEVALUATED[kind]:
            own = site
        else:
            notes = _cross(reading, notes, _noted_keyword(site, kind, exact=exact), kind, site.path)
    if own is None or inner:
        return notes
    added = [
        (reading.both([(clause,), (frozenset(seen.unseen(own, kind)),)], kind, own.path)) for clause, seen in notes
    ]
    return [(clause, EVERYTHING) for clause in algebra.either(*added)]


def negative_notes(site: Site, kind: Type) -> Clauses:
    """All else that the schema says holds, and something that was not looked at is not as the site says."""
    found: list[Clauses] = []
    for clause, seen in noted_schema(site.reading, site.term, kind, exact=True, inner=True):
        found.append(site.reading.both([(clause,), algebra.negated(seen.unseen(site, kind))], kind, site.path))
    return algebra.either(*found)


def _noted(reading: Reading, literal: Literal, kind: Type, *, exact: bool) -> list[Note]:
    """Of any literal; opposites look at nothing."""
    term = reading.terms.term(literal)
    if literal % 2 or not isinstance(term, SchemaTerm) or not _looks(reading, term, kind):
        return [(clause, NOTHING) for clause in reading.clauses(literal, kind)]
    with reading.working_on(literal, kind, "notes"):
        return noted_schema(reading, term, kind, exact=exact)


def _looks(reading: Reading, term: SchemaTerm, kind: Type) -> bool:
    """Whether a schema, or one about the same value in it, looks at items or properties."""
    left, known = [term], {term}
    while left:
        one = left.pop()
        sites = [Site(reading, one, keyword) for keyword in reading.asserting(one.pointer)]
        if any(site.name in LOOKING[kind] for site in sites):
            return True
        for literal in (literal for site in sites for literal in _same_value(site)):
            inner = reading.terms.term(literal)
            if isinstance(inner, SchemaTerm) and inner not in known:
                known.add(inner)
                left.append(inner)
    return False


def _same_value(site: Site) -> Iterator[Literal]:
    """Schemas in a keyword that look at the same value and may add to what is looked at."""
    match site.name:
        case "$ref" | "$dynamicRef":
            yield target(site)
        case "allOf" | "anyOf" | "oneOf":
            yield from branches(site)
        case "if":
            yield from conditions(site)
        case "dependentSchemas":
            yield from (site.inside(name) for name in site.value)
        case _:
            pass


def _noted_keyword(site: Site, kind: Type, *, exact: bool) -> list[Note]:
    from kernelet.structured.schema.keywords.schema import keyword_clauses

    reading = site.reading
    match site.name:
        case "$ref" | "$dynamicRef":
            return _noted(reading, target(site), kind, exact=exact)
        case "allOf":
            return _together(site, branches(site), [], kind, exact=exact)
        case "anyOf":
            return _noted_any(site, kind, exact=exact)
        case "oneOf":
            literals = branches(site)
            ways = [(one, others_excluded(site, literals, index, kind)) for index, one in enumerate(literals)]
            return [note for one, out in ways for note in _together(site, [one], out, kind, exact=exact)]
        case "if":
            condition, then, otherwise = conditions(site)
            yes = _together(site, [condition, then], [], kind, exact=exact)
            return yes + _together(site, [otherwise], [opposite(condition)], kind, exact=exact)
        case "dependentSchemas" if kind == "object":
            return _noted_dependent(site, kind, exact=exact)
        case _:
            seen = _looked_at(site, kind)
            return [(clause, seen) for clause in keyword_clauses(site, kind, positive=True)]


def _looked_at(site: Site, kind: Type) -> Seen:
    if site.name not in LOOKING[kind]:
        return NOTHING
    match site.name:
        case "properties":
            return Seen(names=frozenset(site.value))
        case "patternProperties":
            return Seen(patterns=frozenset(patterns_of(site)))
        case "prefixItems":
            return Seen(first=num_first(site))
        case "contains":
            return Seen(kinds=frozenset({site.inside()}))
        case _:
            return EVERYTHING


def _together(
    site: Site, literals: Sequence[Literal], out: Sequence[Literal], kind: Type, *, exact: bool
) -> list[Note]:
    """All of the literals, which look; and of ``out``, which do not."""
    reading = site.reading
    plain = reading.both([reading.clauses(literal, kind) for literal in out], kind, site.path)
    notes: list[Note] = [(clause, NOTHING) for clause in plain]
    for literal in literals:
        notes = _cross(reading, notes, _noted(reading, literal, kind, exact=exact), kind, site.path)
    return notes


def _noted_any(site: Site, kind: Type, *, exact: bool) -> list[Note]:
    """Sets of branches that hold. Where it need not be exact, nothing is said of the others: less was looked at."""
    reading = site.reading
    literals = list(dict.fromkeys(branches(site)))
    looking = [each for each in literals if _may_look(reading, each, kind)]
    others = [literal for literal in literals if literal not in looking]
    if len(looking) > MAX_BRANCHES:
        reason = f"more than {MAX_BRANCHES} alternatives look at what {UNEVALUATED[kind]} is about"
        raise UnenforcedError([Refusal(site.path, reason)])
    notes: list[Note] = []
    for size in range(len(looking) + 1):
        for holding in combinations(looking, size):
            out = [opposite(each) for each in looking if each not in holding] if exact else []
            found = _together(site, holding, out, kind, exact=exact)
            if not holding:
                plain = algebra.either(*(reading.clauses(literal, kind) for literal in others))
                found = _cross(reading, found, [(clause, NOTHING) for clause in plain], kind, site.path)
            notes += found
    return notes


def _may_look(reading: Reading, literal: Literal, kind: Type) -> bool:
    term = reading.terms.term(literal)
    return literal % 2 == 0 and isinstance(term, SchemaTerm) and _looks(reading, term, kind)


def _noted_dependent(site: Site, kind: Type, *, exact: bool) -> list[Note]:
    reading = site.reading
    notes: list[Note] = [(frozenset(), NOTHING)]
    for index, name in enumerate(site.value):
        then = _noted(reading, site.inside(name), kind, exact=exact)
        has: list[Note] = [(clause, NOTHING) for clause in has_property(site, index, name)]
        lacks: list[Note] = [(clause, NOTHING) for clause in lacks_property(site, index, name)]
        notes = _cross(reading, notes, lacks + _cross(reading, has, then, kind, site.path), kind, site.path)
    return notes


def _cross(reading: Reading, some: list[Note], others: list[Note], kind: Type, path: str) -> list[Note]:
    """All pairs that can hold together; of equal ones, one."""
    found: dict[Note, None] = {}
    for one, seen in some:
        for other, also in others:
            parts: list[Clauses] = [(one,), (other,)]
            for clause in reading.both(parts, kind, path) if TRUE[0] not in {one, other} else [one | other]:
                found[clause, seen | also] = None
    return list(found)
