"""Makes a graph of shapes from what literals mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kernelet.structured.refusal import Refusal, UnenforcedError
from kernelet.structured.schema.algebra.clauses import Clause
from kernelet.structured.schema.algebra.facts import Refused, Truth
from kernelet.structured.schema.algebra.terms import NEVER, NO_VALUE, Key, SchemaTerm
from kernelet.structured.schema.document import Document
from kernelet.structured.schema.finish.arrays import array_shapes
from kernelet.structured.schema.finish.numbers import number_shape
from kernelet.structured.schema.finish.objects import object_shapes
from kernelet.structured.schema.finish.strings import string_shape
from kernelet.structured.schema.finite import values_of
from kernelet.structured.schema.productive import can_have_values
from kernelet.structured.schema.reading import Reading, UnknownError
from kernelet.structured.schema.shapes import BooleanShape, Node, NodeId, NullShape, Shape
from kernelet.structured.schema.values import TYPES, Type, Value

MAX_NODES: Final = 100_000
"""That anybody asks for on the way."""
MAX_DEPTH: Final = 6
"""How deep into values the question goes whether there are any."""


@dataclass(frozen=True)
class Meaning:
    """What a key allows, and what of it is refused."""

    shapes: Node
    refusals: tuple[Refusal, ...]


class Builder:
    """Numbers keys as nodes, and works out their shapes when asked."""

    def __init__(self, document: Document, *, closed: bool = False) -> None:
        """Args:
        document: Whose schemas are read.
        closed: Objects that name properties have no others where nothing is said of them.
        """
        self.reading = Reading(document, self.is_empty)
        self.closed = closed
        self.keys: list[Key] = []
        self.paths: dict[NodeId, str] = {}
        self._nodes: dict[Key, NodeId] = {}
        self._meanings: dict[NodeId, Meaning] = {}
        self._empty: dict[Key, bool] = {}
        self._asking: list[Key] = []
        self._unsure = 0
        self._working: set[NodeId] = set()

    def node(self, key: Key, path: str) -> NodeId:
        """The node of a key.

        Raises:
            UnenforcedError: there are too many.
        """
        if key not in self._nodes:
            if len(self.keys) >= MAX_NODES:
                raise UnenforcedError([Refusal(path, f"the schema becomes larger than {MAX_NODES} nodes")])
            self._nodes[key] = len(self.keys)
            self.paths[len(self.keys)] = self._path(key, path)
            self.keys.append(key)
        return self._nodes[key]

    def _path(self, key: Key, default: str) -> str:
        terms = (self.reading.terms.term(literal) for literal in sorted(key))
        return next((term.pointer for term in terms if isinstance(term, SchemaTerm)), default)

    def meaning(self, node: NodeId) -> Meaning:
        """The shapes of a node.

        Raises:
            UnknownError: somebody asks aside for what is being worked out.
        """
        if node not in self._meanings:
            if node in self._working:
                raise UnknownError
            self._working.add(node)
            try:
                self._meanings[node] = self._work_out(self.keys[node], self.paths[node])
            finally:
                self._working.remove(node)
        return self._meanings[node]

    def _work_out(self, key: Key, path: str) -> Meaning:
        shapes: dict[Shape, None] = {}
        refusals: dict[Refusal, None] = {}
        for kind in TYPES if key != NO_VALUE else ():
            try:
                parts = [self.reading.clauses(each, kind) for each in sorted(key)]
                clauses = parts[0] if len(parts) == 1 else self.reading.both(parts, kind, path)
            except UnenforcedError as error:
                refusals |= dict.fromkeys(error.refusals)
                continue
            for clause in clauses:
                try:
                    shapes |= dict.fromkeys(self._shapes(clause, kind, path))
                except UnenforcedError as error:
                    refusals |= dict.fromkeys(error.refusals)
        return Meaning(tuple(shapes), tuple(refusals))

    def _shapes(self, clause: Clause, kind: Type, path: str) -> list[Shape]:
        """The shapes of a clause; a refused fact does not matter where the others leave nothing."""
        refused = [fact for fact in clause if isinstance(fact, Refused)]
        shapes = self._finish(frozenset(fact for fact in clause if not isinstance(fact, Refused)), kind, path)
        if shapes and refused:
            raise UnenforcedError([Refusal(fact.path, fact.reason) for fact in refused])
        return shapes

    def _finish(self, clause: Clause, kind: Type, path: str) -> list[Shape]:
        match kind:
            case "null":
                return [NullShape()]
            case "boolean":
                values = {fact.value for fact in clause if isinstance(fact, Truth)}
                return [] if len(values) > 1 else [BooleanShape(value=next(iter(values), None))]
            case "number":
                number = number_shape(clause, path)
                return [] if number is None else [number]
            case "string":
                text = string_shape(clause, path)
                return [] if text is None else [text]
            case "array":
                return list(array_shapes(self, clause, path))
            case "object":
                return list(object_shapes(self, clause, path))

    def is_empty(self, key: Key) -> bool:
        """Whether it is certain that no value satisfies all literals of a key."""
        if NEVER in key:
            return True
        if key in self._empty:
            return self._empty[key]
        if key in self._asking or len(self._asking) >= MAX_DEPTH:
            self._unsure += 1
            return False
        unsure = self._unsure
        self._asking.append(key)
        try:
            with self.reading.aside():
                meaning = self.meaning(self.node(key, ""))
                empty = not meaning.refusals and not any(
                    can_have_values(shape, lambda node: self.is_empty(self.keys[node])) for shape in meaning.shapes
                )
        except UnknownError:
            self._unsure += 1
            return False
        finally:
            self._asking.pop()
        if empty or unsure == self._unsure:
            self._empty[key] = empty
        return empty

    def values(self, key: Key, limit: int) -> tuple[Value, ...] | None:
        """All values that satisfy a key, if there are certainly at most so many."""
        try:
            return values_of(self.shapes, self.node(key, ""), limit)
        except UnknownError:
            return None

    def shapes(self, node: NodeId) -> Node | None:
        """Of a node; None: some are refused."""
        meaning = self.meaning(node)
        return None if meaning.refusals else meaning.shapes
