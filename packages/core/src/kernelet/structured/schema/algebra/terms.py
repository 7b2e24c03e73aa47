"""What a value can be asked: whether a schema allows it, whether it is a given one. Numbers stand for the questions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kernelet.structured.schema.values import Value

Literal = int
"""Twice the number of a term, or that plus 1 for its opposite."""

Key = frozenset[Literal]
"""A conjunction: the values that satisfy all of these."""

ALWAYS: Final = 0
NEVER: Final = 1
NO_VALUE: Final = frozenset({NEVER})


@dataclass(frozen=True, slots=True)
class SchemaTerm:
    """A schema of the document.

    Attributes:
        pointer: Where it stands.
        scope: The resources through which evaluation came here, the first first; only where ``$dynamicRef`` asks.
    """

    pointer: str
    scope: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ValueTerm:
    """One value."""

    value: Value


@dataclass(frozen=True, slots=True)
class AnyTerm:
    """What satisfies any of some literals."""

    literals: frozenset[Literal]


Term = SchemaTerm | ValueTerm | AnyTerm


def opposite(literal: Literal) -> Literal:
    return literal ^ 1


class Terms:
    """Numbers terms as they come."""

    def __init__(self) -> None:
        self._numbers: dict[Term, int] = {}
        self._terms: list[Term] = [AnyTerm(frozenset({ALWAYS}))]

    def literal(self, term: Term) -> Literal:
        """The number of a term; it is met for the first time or not."""
        number = self._numbers.get(term)
        if number is None:
            number = self._numbers[term] = len(self._terms)
            self._terms.append(term)
        return 2 * number

    def term(self, literal: Literal) -> Term:
        """What a literal, or its opposite, is about."""
        return self._terms[literal >> 1]

    def any_of(self, literals: Iterable[Literal]) -> Literal:
        """A literal for a disjunction."""
        found = frozenset(literals) - {NEVER}
        if ALWAYS in found or any(opposite(literal) in found for literal in found):
            return ALWAYS
        if len(found) == 1:
            return next(iter(found))
        return self.literal(AnyTerm(found)) if found else NEVER

    def key(self, literals: Iterable[Literal]) -> Key:
        """A conjunction without what is idle in it."""
        found = set(literals)
        found.discard(ALWAYS)
        if NEVER in found or any(opposite(literal) in found for literal in found):
            return NO_VALUE
        if len(found) < 2:
            return frozenset(found)
        values = {literal for literal in found if isinstance(self.term(literal), ValueTerm)}
        same = {literal for literal in values if literal % 2 == 0}
        if len(same) > 1:
            return NO_VALUE
        if same:
            found -= values - same
        for literal in list(found):
            term = self.term(literal)
            if isinstance(term, AnyTerm) and literal % 2 == 0 and found & term.literals:
                found.discard(literal)
        return frozenset(found)
