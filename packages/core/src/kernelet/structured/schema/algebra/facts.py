"""Facts about values of one type, and their opposites.

``path`` says where a fact comes from, for messages; facts that differ in nothing else are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from kernelet.structured.schema.algebra.terms import NEVER, Literal, opposite

if TYPE_CHECKING:
    from kernelet.structured.automata.syntax import Regex


@dataclass(frozen=True, slots=True)
class Refused:
    """Nobody knows how to write this, nor its opposite."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Truth:
    """A boolean's value."""

    value: bool


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A number's lower bound."""

    bound: Fraction
    exclusive: bool


@dataclass(frozen=True, slots=True)
class AtMost:
    """A number's upper bound."""

    bound: Fraction
    exclusive: bool


@dataclass(frozen=True, slots=True)
class Multiple:
    """A number is a multiple; of 1: it is whole."""

    divisor: Fraction


@dataclass(frozen=True, slots=True)
class NotMultiple:
    """A number is no multiple."""

    divisor: Fraction


@dataclass(frozen=True, slots=True)
class OneOf:
    """A number or a string is one of these."""

    values: frozenset[Fraction | str]


@dataclass(frozen=True, slots=True)
class NoneOf:
    """A number or a string is none of these."""

    values: frozenset[Fraction | str]


@dataclass(frozen=True, slots=True)
class SizeAtLeast:
    """So many characters, items or properties."""

    count: int
    path: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class SizeAtMost:
    """So many characters, items or properties."""

    count: int


@dataclass(frozen=True, slots=True)
class Matches:
    """A string is in a language, or (``inside`` false) outside of it."""

    language: Regex
    inside: bool = True
    path: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Format:
    """A string has a format."""

    name: str
    path: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Item:
    """The item at ``index``, if there is one."""

    index: int
    literal: Literal


@dataclass(frozen=True, slots=True)
class Items:
    """All items from ``start`` on."""

    start: int
    literal: Literal


@dataclass(frozen=True, slots=True)
class CountAtLeast:
    """So many of the items from ``start`` on satisfy the literal."""

    start: int
    literal: Literal
    count: int
    path: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class CountAtMost:
    """No more of the items from ``start`` on satisfy the literal."""

    start: int
    literal: Literal
    count: int
    path: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Distinct:
    """No two items are equal, or (``distinct`` false) some are."""

    distinct: bool = True
    path: str = field(default="", compare=False)


Order = tuple[int, int, int]
"""Where a name is written: kind of place, place, position."""

NO_ORDER: Order = (9, 0, 0)


@dataclass(frozen=True, slots=True)
class Member:
    """The property of this name, if there is one."""

    name: str
    literal: Literal
    order: Order = field(default=NO_ORDER, compare=False)


@dataclass(frozen=True, slots=True)
class Has:
    """There is a property of this name."""

    name: str
    order: Order = field(default=NO_ORDER, compare=False)


@dataclass(frozen=True, slots=True)
class KeySet:
    """Names: in all of ``inside``, in none of ``outside``, and not among ``but``."""

    inside: tuple[Regex, ...] = ()
    outside: tuple[Regex, ...] = ()
    but: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Members:
    """All properties with a name of these."""

    keys: KeySet
    literal: Literal
    path: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class SomeMember:
    """At least one property with a name of these satisfies the literal."""

    keys: KeySet
    literal: Literal
    path: str = field(default="", compare=False)


Fact = (
    Refused | Truth | AtLeast | AtMost | Multiple | NotMultiple | OneOf | NoneOf | SizeAtLeast | SizeAtMost | Matches
    | Format | Item | Items | CountAtLeast | CountAtMost | Distinct | Member | Has | Members | SomeMember
)  # fmt: skip


def negation(fact: Fact) -> tuple[Fact, ...] | None:
    """Facts that hold together where ``fact`` does not; None: it always holds."""
    match fact:
        case Refused():
            return (fact,)
        case Format(name, path):
            return (Refused(path, f"no grammar says that a text does not have the format {name!r}"),)
        case SizeAtLeast(count):
            return (SizeAtMost(count - 1),) if count > 0 else None
        case SizeAtMost(count):
            return (SizeAtLeast(count + 1),)
        case Item() | Items() | CountAtLeast() | CountAtMost() | Distinct():
            return _array_negation(fact)
        case Member() | Has() | Members() | SomeMember():
            return _object_negation(fact)
        case _:
            return (_scalar_negation(fact),)


def _scalar_negation(fact: Fact) -> Fact:
    match fact:
        case Truth(value):
            return Truth(not value)
        case AtLeast(bound, exclusive):
            return AtMost(bound, not exclusive)
        case AtMost(bound, exclusive):
            return AtLeast(bound, not exclusive)
        case Multiple(divisor):
            return NotMultiple(divisor)
        case NotMultiple(divisor):
            return Multiple(divisor)
        case OneOf(values):
            return NoneOf(values)
        case NoneOf(values):
            return OneOf(values)
        case Matches(language, inside, path):
            return Matches(language, not inside, path)
        case _:
            raise AssertionError(fact)


def _array_negation(fact: Item | Items | CountAtLeast | CountAtMost | Distinct) -> tuple[Fact, ...] | None:
    match fact:
        case Item(index, literal):
            more = SizeAtLeast(index + 1)
            return (more,) if literal == NEVER else (more, Item(index, opposite(literal)))
        case Items(start, literal):
            return (CountAtLeast(start, opposite(literal), 1),)
        case CountAtLeast(start, literal, count, path):
            if count <= 1:
                return (Items(start, opposite(literal)),) if count == 1 else None
            return (CountAtMost(start, literal, count - 1, path),)
        case CountAtMost(start, literal, count, path):
            return (CountAtLeast(start, literal, count + 1, path),)
        case Distinct(distinct, path):
            return (Distinct(not distinct, path),)


def _object_negation(fact: Member | Has | Members | SomeMember) -> tuple[Fact, ...]:
    match fact:
        case Member(name, literal, order):
            has = Has(name, order)
            return (has,) if literal == NEVER else (has, Member(name, opposite(literal), order))
        case Has(name, order):
            return (Member(name, NEVER, order),)
        case Members(keys, literal, path):
            return (SomeMember(keys, opposite(literal), path),)
        case SomeMember(keys, literal, path):
            return (Members(keys, opposite(literal), path),)
