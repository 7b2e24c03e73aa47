"""Which characters may follow each lexeme."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from kernelet.contracts.structured import Expression, Repeat, Rule, Union


class Division(Protocol):
    """What is read as one lexeme, and what as parts."""

    def is_lexeme(self, expression: Expression) -> bool:
        """Whether the lexer reads it as a whole."""

    def divide(self, expression: Expression) -> tuple[Expression, ...]:
        """The parts of what it does not."""


class Ends(NamedTuple):
    """Of an expression: the positions where a text may begin and end, and whether it may be empty."""

    first: list[int]
    last: list[int]
    nullable: bool


class Follow:
    """The usual sets of first and following characters, as bits, of rules whose leaves are lexemes.

    Attributes:
        after: Of each lexeme: the characters that may follow it.
    """

    def __init__(
        self,
        division: Division,
        rules: Mapping[str, Expression],
        ends: Mapping[Expression, Ends],
        bits: Sequence[int],
    ) -> None:
        self._division = division
        self._lexemes = {
            lexeme: (union(bits[place] for place in end.first), end.nullable) for lexeme, end in ends.items()
        }
        self._known: dict[int, tuple[int, bool]] = {}
        self._first: dict[str, tuple[int, bool]] = dict.fromkeys(rules, (0, False))
        self._follow = dict.fromkeys(rules, 0)
        self._visited = dict.fromkeys(rules, -1)
        self.after = dict.fromkeys(ends, 0)
        while sum(self._grow_first(name, expression) for name, expression in rules.items()):
            self._known.clear()
        while sum(self._grow_follow(name, expression) for name, expression in rules.items()):
            pass

    def _grow_first(self, name: str, expression: Expression) -> bool:
        before, self._first[name] = self._first[name], self._first_of(expression)
        return before != self._first[name]

    def _grow_follow(self, name: str, expression: Expression) -> bool:
        if self._visited[name] == self._follow[name]:
            return False
        self._visited[name] = self._follow[name]
        self._visit(expression, self._follow[name])
        return True

    def _first_of(self, expression: Expression) -> tuple[int, bool]:
        """The characters that a text may begin with, and whether it may be empty."""
        if isinstance(expression, Rule) and expression not in self._lexemes:
            return self._first[expression.name]
        if id(expression) not in self._known:
            self._known[id(expression)] = self._find_first(expression)
        return self._known[id(expression)]

    def _find_first(self, expression: Expression) -> tuple[int, bool]:
        if expression in self._lexemes:
            return self._lexemes[expression]
        if isinstance(expression, Repeat):
            first, nullable = self._first_of(expression.item)
            return first, nullable or not expression.minimum
        found = list(map(self._first_of, self._division.divide(expression)))
        if isinstance(expression, Union):
            return union(first for first, _ in found), any(nullable for _, nullable in found)
        bits = 0
        for first, nullable in found:
            bits |= first
            if not nullable:
                return bits, False
        return bits, True

    def _visit(self, expression: Expression, follow: int) -> None:
        """Notes that these characters may follow an expression."""
        if expression in self.after:
            self.after[expression] |= follow
        elif isinstance(expression, Rule):
            self._follow[expression.name] |= follow
        elif isinstance(expression, Repeat):
            first, _ = self._first_of(expression.item)
            self._visit(expression.item, follow | (first if expression.maximum != 1 else 0))
        else:
            for part in reversed(self._division.divide(expression)):
                self._visit(part, follow)
                if not isinstance(expression, Union):
                    first, nullable = self._first_of(part)
                    follow = first | (follow if nullable else 0)


def union(sets: Iterable[int]) -> int:
    """Sets, as bits, together."""
    bits = 0
    for one in sets:
        bits |= one
    return bits
