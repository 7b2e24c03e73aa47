"""Which lexemes the lexer may misread: one matches, a character that may follow it goes on with a match of another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from kernelet.contracts.structured import ROOT, Chars, Concat, Expression, Repeat, Rule, Text, Union
from kernelet_structured_guidance.follow import Division, Ends, Follow

MOST_POSITIONS: Final = 20_000
"""Characters and classes of all lexemes that are compared."""

MOST_PAIRS: Final = 400_000
"""Pairs of them that one text may reach."""


class TooLargeError(Exception):
    """More to compare than is worth the time."""


class Alphabet:
    """Sets of characters as bits, one for all characters that no class tells apart."""

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._starts = sorted({0, *chain.from_iterable((first, last + 1) for first, last in ranges)})

    def bits(self, ranges: Iterable[tuple[int, int]]) -> int:
        """The set of all characters of some ranges."""
        bits = 0
        for first, last in ranges:
            low, high = bisect_right(self._starts, first) - 1, bisect_right(self._starts, last) - 1
            bits |= (1 << high + 1) - (1 << low)
        return bits


class Positions:
    """The characters and classes of all lexemes, and which may come after which (Glushkov's construction).

    Bounds of repetitions are left out: more texts are read, so that more is found to be misread, never less.

    Attributes:
        bits: The characters of each position.
        after: The positions that may come next.
    """

    def __init__(self, rules: Mapping[str, Expression]) -> None:
        self._rules = rules
        self.ranges: list[tuple[tuple[int, int], ...]] = []
        self.after: list[list[int]] = []

    def add(self, expression: Expression) -> Ends:
        """Adds all positions of an expression."""
        match expression:
            case Text(text):
                return self._sequence([self._place(((code, code),)) for code in map(ord, text)])
            case Chars(ranges):
                return self._place(ranges)
            case Rule(name):
                return self.add(self._rules[name])
            case Concat(items):
                return self._sequence(list(map(self.add, items)))
            case Union(items):
                ends = list(map(self.add, items))
                first = [place for end in ends for place in end.first]
                return Ends(first, [place for end in ends for place in end.last], any(end.nullable for end in ends))
            case Repeat(item, minimum, maximum):
                end = self.add(item)
                if maximum != 1:
                    self._follow(end.last, end.first)
                return Ends(end.first, end.last, end.nullable or not minimum)

    def _place(self, ranges: tuple[tuple[int, int], ...]) -> Ends:
        if len(self.ranges) >= MOST_POSITIONS:
            raise TooLargeError
        self.ranges.append(ranges)
        self.after.append([])
        return Ends([len(self.ranges) - 1], [len(self.ranges) - 1], nullable=False)

    def _sequence(self, ends: list[Ends]) -> Ends:
        first: list[int] = []
        last: list[int] = []
        nullable = True
        for end in ends:
            self._follow(last, end.first)
            if nullable:
                first = [*first, *end.first]
            last = [*last, *end.last] if end.nullable else end.last
            nullable = nullable and end.nullable
        return Ends(first, last, nullable)

    def _follow(self, places: list[int], then: list[int]) -> None:
        for place in places:
            self.after[place].extend(then)
            if len(self.after[place]) > MOST_POSITIONS:
                raise TooLargeError


class Comparison:
    """All lexemes of a grammar against each other."""

    def __init__(self, division: Division, rules: Mapping[str, Expression]) -> None:
        self._division = division
        self._rules = rules
        self._lexemes: list[Expression] = []
        self._read = self._collect()

    def conflicts(self) -> set[Expression]:
        """Lexemes that must be taken apart; all that can be where there is too much to compare."""
        if self._division.is_lexeme(Rule(ROOT)):
            return set()  # nothing follows, nothing else is read
        try:
            found = self._search()
        except TooLargeError:
            found = set(self._lexemes)
        return {lexeme for lexeme in found if not is_single(lexeme)}

    def _collect(self) -> dict[str, Expression]:
        """Finds the lexemes; returns the rules that the parser reads."""
        read: dict[str, Expression] = {}
        todo: list[Expression] = [Rule(ROOT)]
        lexemes: dict[Expression, None] = {}
        while todo:
            expression = todo.pop()
            if self._division.is_lexeme(expression):
                lexemes[expression] = None
            elif isinstance(expression, Rule):
                if expression.name not in read:
                    todo.append(self._rules[expression.name])
                    read[expression.name] = self._rules[expression.name]
            elif isinstance(expression, Repeat):
                todo.append(expression.item)
            else:
                todo.extend(self._division.divide(expression))
        self._lexemes = list(lexemes)
        return read

    def _search(self) -> set[Expression]:
        positions = Positions(self._rules)
        ends: dict[Expression, Ends] = {}
        owner: list[Expression] = []
        for lexeme in self._lexemes:
            ends[lexeme] = positions.add(lexeme)
            owner.extend([lexeme] * (len(positions.ranges) - len(owner)))
        alphabet = Alphabet(chain.from_iterable(positions.ranges))
        bits = [alphabet.bits(ranges) for ranges in positions.ranges]
        follow = Follow(self._division, self._read, ends, bits).after
        after_last = {place: follow[lexeme] for lexeme, end in ends.items() for place in end.last}
        found: set[Expression] = set()
        for one, other in pairs([place for end in ends.values() for place in end.first], positions.after, bits):
            if any(bits[place] & after_last.get(one, 0) for place in positions.after[other]):
                found |= {owner[one], owner[other]}
        return found


def pairs(starts: Sequence[int], after: Sequence[Sequence[int]], bits: Sequence[int]) -> Iterator[tuple[int, int]]:
    """All pairs of positions that one text may reach from the starts."""
    if len(starts) ** 2 > MOST_PAIRS * 10:
        raise TooLargeError
    todo = [(one, other) for one in starts for other in starts if bits[one] & bits[other]]
    seen = set(todo)
    while todo:
        yield (pair := todo.pop())
        for one in after[pair[0]]:
            for other in after[pair[1]]:
                if bits[one] & bits[other] and (one, other) not in seen:
                    seen.add((one, other))
                    todo.append((one, other))
        if len(seen) > MOST_PAIRS:
            raise TooLargeError


def is_single(expression: Expression) -> bool:
    """Whether it is one character, which cannot be taken apart."""
    return isinstance(expression, Chars) or (isinstance(expression, Text) and len(expression.text) == 1)
