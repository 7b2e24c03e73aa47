"""A schema as a document: where its schemas stand, their addresses, and what references lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from kernelet.structured.refusal import InvalidConstraintError, Refusal, UnenforcedError
from kernelet.structured.schema.dialects import Dialect, dialect_of, hides_siblings, subschemas
from kernelet.structured.schema.lint import check


@dataclass(frozen=True)
class Place:
    """A schema of a document.

    Attributes:
        schema: An object or a boolean.
        base: Address of the resource that it belongs to.
        number: In the order of the document.
    """

    schema: Any
    base: str
    number: int


class Document:
    """All schemas of one text, by JSON pointer."""

    def __init__(self, schema: object, dialect: Dialect | None = None) -> None:
        """Reads addresses and checks every node.

        Raises:
            InvalidConstraintError: it is no schema.
            UnenforcedError: it is of a dialect that is not read.
        """
        self.dialect = dialect or dialect_of(schema, Dialect.DRAFT_2020_12)
        self.refusals = {refusal.path: refusal for refusal in check(schema, self.dialect)}
        self.places: dict[str, Place] = {}
        self.is_dynamic = False
        self._root = schema
        self._resources: dict[str, str] = {}
        self._anchors: dict[tuple[str, str], str] = {}
        self._dynamic: dict[tuple[str, str], str] = {}
        self._add("", schema, "")

    def __getitem__(self, pointer: str) -> Place:
        return self.places[pointer]

    def _add(self, pointer: str, schema: object, base: str) -> None:
        self._resources.setdefault(base, pointer)
        left = [(pointer, schema, base)]
        while left:
            at, one, address = left.pop()
            if at in self.places:
                continue
            if isinstance(one, dict):
                address = self._name(at, one, address)
            self.places[at] = Place(one, address, len(self.places))
            left += reversed([(inner, value, address) for inner, value in subschemas(one, at, self.dialect)])

    def _name(self, pointer: str, schema: dict[str, Any], base: str) -> str:
        """Notes the address and the anchors of a schema; returns its base."""
        hidden = hides_siblings(schema, self.dialect)
        named = schema.get("$id")
        if isinstance(named, str) and not hidden:
            address, anchor = urldefrag(_join(base, named))
            if anchor and self.dialect is Dialect.DRAFT_7:
                self._anchors.setdefault((address, anchor), pointer)
            if not named.startswith("#"):
                base = address
                if base not in self._resources or pointer == "":
                    self._resources[base] = pointer
        if self.dialect is Dialect.DRAFT_2020_12:
            for keyword, table in (("$anchor", self._anchors), ("$dynamicAnchor", self._dynamic)):
                if isinstance(schema.get(keyword), str):
                    table.setdefault((base, schema[keyword]), pointer)
            self.is_dynamic |= "$dynamicRef" in schema
        return base

    def resolve(self, reference: str, pointer: str, keyword: str) -> str:
        """Where a reference leads that stands in the schema at ``pointer``.

        Raises:
            InvalidConstraintError: to nothing.
            UnenforcedError: out of the document.
        """
        path = f"{pointer}/{keyword}"
        address, fragment = urldefrag(_join(self.places[pointer].base, reference))
        root = self._resources.get(address)
        if root is None:
            reason = f"{reference!r} is outside of this schema: put what it refers to under $defs"
            raise UnenforcedError([Refusal(path, reason)])
        fragment = unquote(fragment)
        if not fragment:
            return root
        if fragment.startswith("/"):
            return self._at(root + fragment, path, reference)
        for table in (self._anchors, self._dynamic):
            if (address, fragment) in table:
                return table[address, fragment]
        raise InvalidConstraintError(f"there is no anchor {fragment!r} for {reference!r}", path)

    def resolve_dynamic(self, reference: str, pointer: str, scope: tuple[str, ...]) -> str:
        """Where a ``$dynamicRef`` leads, for an evaluation that came through these resources."""
        target = self.resolve(reference, pointer, "$dynamicRef")
        anchor = unquote(urldefrag(reference).fragment)
        if self._dynamic.get((self.places[target].base, anchor)) != target:
            return target
        return next((self._dynamic[base, anchor] for base in scope if (base, anchor) in self._dynamic), target)

    def _at(self, pointer: str, path: str, reference: str) -> str:
        """A place by its pointer; one that is not known as a schema so far is read now."""
        if pointer in self.places:
            return pointer
        value: Any = self._root
        base, passed = self.places[""].base, ""
        for token in pointer.split("/")[1:]:
            name = token.replace("~1", "/").replace("~0", "~")
            try:
                value = value[int(name)] if isinstance(value, list) else value[name]
            except (KeyError, IndexError, ValueError, TypeError):
                raise InvalidConstraintError(f"{reference!r} leads to nothing", path) from None
            passed += f"/{token}"
            base = self.places[passed].base if passed in self.places else base
        self.refusals.update({refusal.path: refusal for refusal in check(value, self.dialect, pointer)})
        self._add(pointer, value, base)
        return pointer


def _join(base: str, reference: str) -> str:
    """A reference relative to an address; ``urljoin`` knows no fragments of schemes such as urn."""
    if reference.startswith("#") or not reference:
        return urldefrag(base).url + reference
    if urlsplit(base).scheme not in {"", "http", "https", "file", "ftp"} and not urlsplit(reference).scheme:
        return reference
    return urljoin(base, reference)
