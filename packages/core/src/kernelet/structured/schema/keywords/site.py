"""A keyword where it stands, with what readers of keywords need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelet.structured.schema.algebra.facts import Order
from kernelet.structured.schema.algebra.terms import Literal, SchemaTerm
from kernelet.structured.schema.dialects import escape

if TYPE_CHECKING:
    from kernelet.structured.schema.reading import Reading


@dataclass(frozen=True)
class Site:
    """A keyword of a schema.

    Attributes:
        reading: Knows the rest of the document.
        term: The schema.
        name: Of the keyword.
    """

    reading: Reading
    term: SchemaTerm
    name: str

    @property
    def schema(self) -> dict[str, Any]:
        """The keywords beside it, and it."""
        schema = self.reading.document[self.term.pointer].schema
        assert isinstance(schema, dict)
        return schema

    @property
    def value(self) -> Any:
        """What is written there."""
        return self.schema[self.name]

    @property
    def path(self) -> str:
        """JSON pointer."""
        return f"{self.term.pointer}/{escape(self.name)}"

    def beside(self, name: str) -> Site:
        """Another keyword of the schema, which has it."""
        return Site(self.reading, self.term, name)

    def inside(self, *tokens: str | int) -> Literal:
        """The schema that stands in the keyword's value, or is it."""
        pointer = "/".join([self.path, *(escape(str(token)) for token in tokens)])
        return self.reading.literal(pointer, self.term.scope)

    def order(self, kind: int, position: int) -> Order:
        """Of a name that is written here."""
        return kind, self.reading.document[self.term.pointer].number, position
