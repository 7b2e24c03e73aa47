"""What the literals of a schema mean for values of one type."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from kernelet.structured.automata.parse import parse_pattern
from kernelet.structured.refusal import InvalidConstraintError, Refusal, UnenforcedError
from kernelet.structured.schema.algebra import clauses as algebra
from kernelet.structured.schema.algebra.clauses import FALSE, TRUE, Clause, Clauses
from kernelet.structured.schema.algebra.facts import Refused
from kernelet.structured.schema.algebra.terms import (
    ALWAYS,
    NEVER,
    AnyTerm,
    Key,
    Literal,
    SchemaTerm,
    Terms,
    ValueTerm,
    opposite,
)
from kernelet.structured.schema.algebra.tidy import tidy
from kernelet.structured.schema.dialects import KEYWORDS, escape, hides_siblings
from kernelet.structured.schema.document import Document
from kernelet.structured.schema.keywords.schema import schema_clauses
from kernelet.structured.schema.keywords.values import value_clauses
from kernelet.structured.schema.values import Type, Value, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelet.structured.automata.syntax import Regex

MAX_WORK: Final = 200_000
"""Clauses that may be made for one schema: seconds."""
MAX_CLAUSES: Final = 4_000
"""Alternatives that one place may have on the way."""
MAX_NESTING: Final = 64
"""Schemas about the same value inside of each other."""
PLAIN: Final = frozenset(
    {
        "type",
        "const",
        "enum",
        "multipleOf",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "maxItems",
        "minItems",
        "maxProperties",
    }
)
"""Keywords without schemas in them that are never refused."""
SILENT: Final = frozenset({"$id", "$schema", "$anchor", "$dynamicAnchor", "$defs", "definitions"})
"""Keywords that say nothing about values by themselves."""


class UnknownError(Exception):
    """The answer depends on one that is being worked out."""


class Reading:
    """Works out what schemas mean; remembers it."""

    def __init__(self, document: Document, is_empty: Callable[[Key], bool]) -> None:
        """Args:
        document: Whose schemas are read.
        is_empty: Whether it is certain that no value satisfies all literals of a key. It may use this object.
        """
        self.document = document
        self.terms = Terms()
        self._is_empty = is_empty
        self._known: dict[tuple[Literal, Type], Clauses] = {}
        self._active: dict[tuple[Literal, Type, str], int] = {}
        self._round = 0
        self._work = 0
        self._patterns: dict[str, Regex] = {}
        self._asserting: dict[str, list[str]] = {}
        self._plain: dict[Value, Literal] = {}
        self._disjoint: dict[tuple[Literal, Literal, Type], bool] = {}

    # --- literals ---

    def literal(self, pointer: str, scope: tuple[str, ...]) -> Literal:
        """Of a schema; ``$ref`` that says nothing else is followed."""
        seen: set[str] = set()
        while True:
            place = self.document[pointer]
            if isinstance(place.schema, bool):
                return ALWAYS if place.schema else NEVER
            scope = self._enter(place.base, scope)
            keywords = self.asserting(pointer)
            if not keywords:
                return ALWAYS
            if PLAIN.issuperset(keywords):
                return self._plain_literal(place.schema, keywords, SchemaTerm(pointer, ()))
            if keywords != ["$ref"] or pointer in seen:
                return self.terms.literal(SchemaTerm(pointer, scope))
            seen.add(pointer)
            try:
                pointer = self.document.resolve(place.schema["$ref"], pointer, "$ref")
            except UnenforcedError:
                return self.terms.literal(SchemaTerm(pointer, scope))

    def _plain_literal(self, schema: dict[str, Any], keywords: list[str], term: SchemaTerm) -> Literal:
        """Of a schema that says the same wherever it stands: of all such ones the first."""
        if keywords == ["const"]:
            return self.terms.literal(ValueTerm(value_of(schema["const"])))
        if keywords == ["enum"] and len(schema["enum"]) == 1:
            return self.terms.literal(ValueTerm(value_of(schema["enum"][0])))
        content = value_of({keyword: schema[keyword] for keyword in keywords})
        if content not in self._plain:
            self._plain[content] = self.terms.literal(term)
        return self._plain[content]

    def _enter(self, base: str, scope: tuple[str, ...]) -> tuple[str, ...]:
        return (*scope, base) if self.document.is_dynamic and base not in scope else scope

    def asserting(self, pointer: str) -> list[str]:
        """Keywords of the schema at a place that may say something about values, and those that are refused."""
        if pointer not in self._asserting:
            schema, dialect = self.document[pointer].schema, self.document.dialect
            refused = self.document.refusals
            self._asserting[pointer] = [
                keyword
                for keyword in (["$ref"] if hides_siblings(schema, dialect) else schema)
                if (keyword in KEYWORDS[dialect] and keyword not in SILENT)
                or (refused and f"{pointer}/{escape(keyword)}" in refused)
            ]
        return self._asserting[pointer]

    def key(self, literals: Iterable[Literal]) -> Key:
        """A conjunction of literals."""
        return self.terms.key(literals)

    def is_empty(self, literals: Iterable[Literal]) -> bool:
        """Whether it is certain that no value satisfies all of these."""
        key = self.key(literals)
        return NEVER in key or (len(key) > 1 and self._is_empty(key))

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A question about other values than the one that is being worked on, which has to wait for the answer."""
        self._round += 1
        try:
            yield
        finally:
            self._round -= 1

    # --- clauses ---

    def clauses(self, literal: Literal, kind: Type) -> Clauses:
        """What a literal says about the values of a type.

        Raises:
            UnknownError: that is being worked out, and somebody asks aside.
        """
        if literal in {ALWAYS, NEVER}:
            return TRUE if literal == ALWAYS else FALSE
        asked = (literal, kind)
        if asked not in self._known:
            try:
                with self.working_on(literal, kind):
                    self._known[asked] = self._work_out(literal, kind)
            except UnenforcedError as error:
                return algebra.conjunction(Refused(each.path, each.reason) for each in error.refusals)
        return self._known[asked]

    @contextmanager
    def working_on(self, literal: Literal, kind: Type, purpose: str = "clauses") -> Iterator[None]:
        """Holds circles of references that come to nothing.

        Raises:
            UnenforcedError: this is being worked on already, about the same value.
            UnknownError: this is being worked on, and somebody asks aside.
        """
        asked = (literal, kind, purpose)
        if self._active.get(asked, self._round) < self._round:
            raise UnknownError
        if asked in self._active or len(self._active) > MAX_NESTING:
            term = self.terms.term(literal)
            reason = "references lead back here without going into a property or an item, or are nested too deep"
            raise UnenforcedError([Refusal(term.pointer if isinstance(term, SchemaTerm) else "", reason)])
        self._active[asked] = self._round
        try:
            yield
        finally:
            del self._active[asked]

    def _work_out(self, literal: Literal, kind: Type) -> Clauses:
        term, positive = self.terms.term(literal), literal % 2 == 0
        match term:
            case ValueTerm(value):
                return value_clauses(self, value, kind, positive=positive)
            case AnyTerm(literals):
                if positive:
                    return algebra.either(*(self.clauses(each, kind) for each in sorted(literals)))
                return self.both([self.clauses(opposite(each), kind) for each in sorted(literals)], kind)
            case SchemaTerm():
                return schema_clauses(self, term, kind, positive=positive)

    def both(self, parts: list[Clauses], kind: Type, path: str = "") -> Clauses:
        """All of the parts.

        Raises:
            UnenforcedError: that has too many alternatives.
        """

        def spend(clauses: int) -> None:
            self._work += clauses
            if clauses > MAX_CLAUSES or self._work > MAX_WORK:
                reason = f"has more alternatives than can be written down (the limit is {MAX_CLAUSES} at a time)"
                raise UnenforcedError([Refusal(path, reason)])

        def simplify(clause: Clause) -> Clause | None:
            return tidy(clause, self.is_empty)

        return algebra.both(parts, simplify, spend)

    def are_disjoint(self, one: Literal, other: Literal, kind: Type) -> bool:
        """Whether it is certain that no value of a type satisfies both.

        Raises:
            UnenforcedError: there are too many alternatives to look at.
        """
        asked = (min(one, other), max(one, other), kind)
        if one != other and asked not in self._disjoint:
            parts = [self.clauses(one, kind), self.clauses(other, kind)]
            self._disjoint[asked] = FALSE in parts or not self.both(parts, kind) or self.is_empty((one, other))
        return one != other and self._disjoint[asked]

    def pattern(self, text: str, path: str) -> Regex:
        """The texts in which a regular expression is found.

        Raises:
            UnenforcedError: it has parts that are not enforced.
        """
        if text not in self._patterns:
            try:
                self._patterns[text] = parse_pattern(text)
            except InvalidConstraintError as error:
                raise InvalidConstraintError(str(error), path) from None
            except UnenforcedError as error:
                raise UnenforcedError([Refusal(path, str(each)) for each in error.refusals]) from None
        return self._patterns[text]
