"""How much work rules are, before any is done: an index has a row of tokens for every state of an automaton."""

from __future__ import annotations

from typing import Final, NamedTuple

from kernelet.contracts.structured import ROOT, Chars, Concat, Expression, GrammarRules, Repeat, Rule, Text, Union

DEEPEST: Final = 100
"""Expressions inside each other: the regular expression's parser goes no deeper than 250 of its own."""

TOO_DEEP: Final = f"for outlines, it is nested too deeply: more than {DEEPEST} expressions inside each other"

LETTERS: Final = (ord("a"), ord("z"))
FREE: Final = 8
"""States' worth of a place where most tokens fit: each is written down."""

INSIDE: Final = (
    (0x80, 0x7FF, 6),
    *((0x800, 0xFFFF, bits) for bits in (6, 12)),
    *((0x10000, 0x10FFFF, bits) for bits in (6, 12, 18)),
)
"""Places inside characters of several bytes: the characters, and the bits that are still to come."""


class Size(NamedTuple):
    """Of an expression.

    Attributes:
        states: About so many, some of which count several times.
        depth: Expressions inside each other.
    """

    states: int
    depth: int


def states_of(rules: GrammarRules) -> int:
    """About how many states an automaton of the rules has, if it is no larger than they are.

    Raises:
        ValueError: A rule refers to itself or is not there, or the rules are nested too deeply.
    """
    try:
        return _Sizes(rules).of_rule(ROOT).states
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


class _Sizes:
    """Keeps those of rules, which may be needed often; None: one that is being looked at."""

    def __init__(self, rules: GrammarRules) -> None:
        self._rules = rules.rules
        self._known: dict[str, Size | None] = {}

    def of_rule(self, name: str) -> Size:
        if name not in self._known:
            if name not in self._rules:
                raise ValueError(f"there is no rule {name!r}")
            self._known[name] = None
            self._known[name] = self._of(self._rules[name])
        size = self._known[name]
        if size is None:
            raise ValueError(f"outlines enforces regular languages only, and rule {name!r} refers to itself")
        return size

    def _of(self, expression: Expression) -> Size:
        match expression:
            case Text(text):
                return Size(len(text.encode()), 1)
            case Chars(ranges):
                return Size(_states(ranges), 1)
            case Rule(name):
                inner, times = [self.of_rule(name)], 1
            case Concat(items) | Union(items):
                inner, times = [self._of(item) for item in items], 1
            case Repeat(item, minimum, maximum):
                inner, times = [self._of(item)], max(minimum, maximum or 1)
        depth = 1 + max((size.depth for size in inner), default=0)
        if depth > DEEPEST:
            raise ValueError(TOO_DEEP)
        return Size(times * sum(size.states for size in inner), depth)


def _states(ranges: tuple[tuple[int, int], ...]) -> int:
    """One, and those inside characters of several bytes: the starts of UTF-8 whose rest is not just any."""
    inside: set[tuple[int, int]] = set()
    for place, (least, largest, bits) in enumerate(INSIDE):
        for first, last in ranges:
            low, high = max(first, least), min(last, largest)
            if low <= high:
                inside |= {(place, -1), (place, low >> bits), (place, high >> bits)}
    free = any(first <= LETTERS[0] and LETTERS[1] <= last for first, last in ranges)
    return len(inside) + (FREE if free else 1)
