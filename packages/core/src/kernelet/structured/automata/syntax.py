"""Regular expressions as values: what the functions here make is equal where it was made alike, and simplified.

Languages are sets of texts over all Unicode characters (surrogates are none). Expressions are immutable, and keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kernelet.structured.automata import alphabet
from kernelet.structured.automata.alphabet import Ranges
from kernelet.structured.automata.budget import MAX_DEPTH, MAX_SIZE, TooLargeError


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a language at once.

    Attributes:
        nullable: The empty text is in it.
        shortest: No text is shorter. Exact without ``Both`` and ``Complement``.
        longest: No text is longer; None: there is no bound. Exact without ``Both`` and ``Complement``.
        plain: There is no ``Both`` and no ``Complement`` in it.
        depth: Of nested operators.
        size: Number of expressions in it.
    """

    nullable: bool
    shortest: int
    longest: int | None
    plain: bool = True
    depth: int = 1
    size: int = 1

    def __post_init__(self) -> None:
        if self.depth > MAX_DEPTH:
            raise TooLargeError(f"a regular expression is nested deeper than {MAX_DEPTH} levels")
        if self.size > MAX_SIZE:
            raise TooLargeError(f"a regular expression has more than {MAX_SIZE} parts when written out")


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of these; without ranges: no text at all."""

    ranges: Ranges
    facts: Facts = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Concat:
    """One after the other: two or more; or none: the empty text."""

    parts: tuple[Regex, ...]
    facts: Facts = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Union:
    """Any of two or more."""

    parts: tuple[Regex, ...]
    facts: Facts = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Repeat:
    """So many times; ``maximum`` None: any number."""

    part: Regex
    minimum: int
    maximum: int | None
    facts: Facts = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Both:
    """All of two or more at once."""

    parts: tuple[Regex, ...]
    facts: Facts = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Complement:
    """Every text that is not in the language of the part."""

    part: Regex
    facts: Facts = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Named:
    """A language that is written elsewhere, under this name; only while rules are made."""

    name: str
    facts: Facts = field(compare=False, repr=False)


Regex = Chars | Concat | Union | Repeat | Both | Complement | Named

_ONE: Final = Facts(nullable=False, shortest=1, longest=1)
NOTHING: Final[Regex] = Chars((), _ONE)
"""No text."""
EPSILON: Final[Regex] = Concat((), Facts(nullable=True, shortest=0, longest=0))
"""The empty text."""
ANY: Final[Regex] = Chars(alphabet.ALL, _ONE)
"""Any one character."""
EVERYTHING: Final[Regex] = Repeat(ANY, 0, None, Facts(nullable=True, shortest=0, longest=None, depth=2, size=2))
"""Any text."""


def chars(ranges: Sequence[tuple[int, int]]) -> Regex:
    """One character of these code points (first, last), both included."""
    return Chars(alphabet.normalize(ranges), _ONE)


def literal(text: str) -> Regex:
    """Exactly this text."""
    return concat(*(chars(((ord(each), ord(each)),)) for each in text))


def concat(*parts: Regex) -> Regex:
    """One after the other."""
    flat: list[Regex] = []
    for part in parts:
        for each in part.parts if isinstance(part, Concat) else (part,):
            if each == NOTHING:
                return NOTHING
            _append(flat, each)
    if len(flat) == 1:
        return flat[0]
    if not flat:
        return EPSILON
    facts = [part.facts for part in flat]
    longest = [each.longest for each in facts]
    total = None if None in longest else sum(each or 0 for each in longest)
    return Concat(
        tuple(flat),
        _facts(facts, all(each.nullable for each in facts), sum(each.shortest for each in facts), total),
    )


def _append(flat: list[Regex], part: Regex) -> None:
    """Joins repeats of one thing: ``a a*`` is ``a+``; what is written out (``aab``) stays written out."""
    while flat:
        item, low, high = _counted(flat[-1])
        other, more_low, more_high = _counted(part)
        if item != other or not (isinstance(flat[-1], Repeat) or isinstance(part, Repeat)):
            break
        flat.pop()
        part = repeat(item, low + more_low, None if high is None or more_high is None else high + more_high)
    flat.append(part)


def _counted(part: Regex) -> tuple[Regex, int, int | None]:
    return (part.part, part.minimum, part.maximum) if isinstance(part, Repeat) else (part, 1, 1)


def _facts(parts: Sequence[Facts], nullable: bool, shortest: int, longest: int | None) -> Facts:
    plain, depth = all(each.plain for each in parts), 1 + max(each.depth for each in parts)
    size = 1 + sum(each.size for each in parts)
    return Facts(nullable=nullable, shortest=shortest, longest=longest, plain=plain, depth=depth, size=size)


def union(*parts: Regex) -> Regex:
    """Any of these."""
    flat: dict[Regex, None] = {}
    sets: list[Ranges] = []
    empty = False
    for part in parts:
        for each in part.parts if isinstance(part, Union) else (part,):
            if each == EVERYTHING:
                return EVERYTHING
            if isinstance(each, Chars):
                sets.append(each.ranges)
            elif each == EPSILON:
                empty = True
            else:
                flat[each] = None
    if any(sets):
        flat[chars(alphabet.unite(sets))] = None
    joined = _join_repeats(list(flat))
    if empty and not any(part.facts.nullable for part in joined):
        return repeat(_any_of(joined), 0, 1)
    return _any_of(joined)


def _join_repeats(parts: list[Regex]) -> list[Regex]:
    """``a{1,3}`` or ``a{2,5}`` is ``a{1,5}``."""
    if not any(isinstance(part, Repeat) for part in parts):
        return parts
    counts: dict[Regex, list[tuple[int, int | None]]] = {}
    for part in parts:
        item, low, high = _counted(part)
        counts.setdefault(item, []).append((low, high))
    joined = []
    for item, bounds in counts.items():
        merged: list[tuple[int, int | None]] = []
        for low, high in sorted(bounds, key=lambda bound: bound[0]):
            if not merged:
                merged.append((low, high))
                continue
            first, last = merged[-1]
            if last is not None and low > last + 1:
                merged.append((low, high))
            else:
                merged[-1] = (first, None if high is None or last is None else max(high, last))
        joined += [repeat(item, low, high) for low, high in merged]
    return joined


def _any_of(parts: list[Regex]) -> Regex:
    if len(parts) < 2:
        return parts[0] if parts else NOTHING
    facts = [part.facts for part in parts]
    longest = [each.longest for each in facts]
    most = None if None in longest else max(each or 0 for each in longest)
    return Union(
        tuple(parts),
        _facts(facts, any(each.nullable for each in facts), min(each.shortest for each in facts), most),
    )


def repeat(part: Regex, minimum: int, maximum: int | None) -> Regex:
    """So many times; None: any number."""
    if part.facts.nullable:
        minimum = 0
    if maximum == 0 or part == EPSILON or (part == NOTHING and minimum == 0):
        return EPSILON
    if part == NOTHING or minimum == maximum == 1:
        return part
    if isinstance(part, Repeat) and _joins(part, minimum, maximum):
        high = None if part.maximum is None or maximum is None else part.maximum * maximum
        return repeat(part.part, part.minimum * minimum, high)
    facts = part.facts
    longest = None if facts.longest is None or maximum is None else facts.longest * maximum
    return Repeat(part, minimum, maximum, _facts((facts,), minimum == 0, facts.shortest * minimum, longest))


def _joins(inner: Repeat, minimum: int, maximum: int | None) -> bool:
    """Whether the counts of repeated repeats have no gaps: ``(a{2,3}){2,5}`` has 4 to 15, ``(a{2}){2,3}`` no 5."""
    if minimum == maximum or inner.maximum is None:
        return minimum > 0 or inner.minimum <= 1
    if minimum == 0:
        return inner.minimum <= 1
    return inner.maximum * minimum + 1 >= inner.minimum * (minimum + 1)


def complement(part: Regex) -> Regex:
    """Every other text."""
    if isinstance(part, Complement):
        return part.part
    item, low, high = (ANY, 0, 0) if part == EPSILON else _counted(part)
    if part == NOTHING:
        return EVERYTHING
    if item == ANY:
        shorter = repeat(ANY, 0, low - 1) if low else NOTHING
        return union(shorter, NOTHING if high is None else repeat(ANY, high + 1, None))
    facts = part.facts
    known = Facts(
        nullable=not facts.nullable, shortest=0, longest=None, plain=False, depth=facts.depth + 1, size=facts.size + 1
    )
    return Complement(part, known)


def both(*parts: Regex) -> Regex:
    """Texts that are in each of these."""
    from kernelet.structured.automata.meet import meet

    return meet(parts)


def all_of(parts: Sequence[Regex]) -> Regex:
    """``both`` that simplifies nothing."""
    if len(parts) < 2:
        return parts[0] if parts else EVERYTHING
    facts = [part.facts for part in parts]
    longest = [each.longest for each in facts if each.longest is not None]
    return Both(
        tuple(parts),
        Facts(
            nullable=all(each.nullable for each in facts),
            shortest=max(each.shortest for each in facts),
            longest=min(longest) if longest else None,
            plain=False,
            depth=1 + max(each.depth for each in facts),
            size=1 + sum(each.size for each in facts),
        ),
    )
