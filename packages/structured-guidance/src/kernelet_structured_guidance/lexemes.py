"""Where lexemes may stand.

llguidance reads a text with a lexer and a parser. Its lexer takes the longest match of what the parser allows and never
goes back, which rules know nothing of. So a regular part is one lexeme only where the longest match is the only one: no
match, with a character that may follow it, begins a match of any lexeme. Where one may, both are taken apart, down to
single characters, which no lexer misreads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count, groupby
from typing import Final, Generic, TypeVar

from kernelet.contracts.structured import Concat, Expression, Repeat, Rule, Text, Union, parts_of
from kernelet_structured_guidance.compare import ALL_WORK, MOST_WORK, Budget, Comparison, is_single
from kernelet_structured_guidance.linear import components, is_recursive, used

SINGLE_LEVELS: Final = 6
"""Comparisons that take lexemes apart one level further; each later one goes twice as far as that before."""

Found = TypeVar("Found")


class ByIdentity(Generic[Found]):
    """Remembers what a function found for each expression, without a look at what the expression consists of."""

    def __init__(self, find: Callable[[Expression], Found]) -> None:
        self._find = find
        self._found: dict[int, tuple[Expression, Found]] = {}

    def __call__(self, expression: Expression) -> Found:
        if id(expression) not in self._found:
            self._found[id(expression)] = expression, self._find(expression)  # which keeps its identity
        return self._found[id(expression)][1]


class FromBelow(ByIdentity[Found]):
    """First of what an expression consists of: no depth is too much for it."""

    def __call__(self, expression: Expression) -> Found:
        if id(expression) not in self._found:
            todo = [expression]
            order: list[Expression] = []
            while todo:
                order.append(part := todo.pop())
                todo.extend(child for child in parts_of(part) if id(child) not in self._found)
            for part in reversed(order):
                super().__call__(part)
        return super().__call__(expression)


class Lexemes:
    """Divides rules into lexemes and what the parser reads.

    Attributes:
        regular: The rules that refer to no recursive one.
    """

    def __init__(self, rules: Mapping[str, Expression]) -> None:
        self.regular = regular_rules(rules)
        self._apart: set[Expression] = set()
        self._budget = Budget(ALL_WORK)
        self._regular = FromBelow(self._find_regular)
        self._forget()
        levels = 1
        for comparison in count():
            if self._budget.left <= 0 or not (found := self._conflicts(rules)):
                break
            levels *= 1 if comparison < SINGLE_LEVELS else 2
            self._apart.update(*(top_of(lexeme, levels) for lexeme in found))
            self._forget()
        self._forget()

    def _forget(self) -> None:
        """What is divided is to be found again."""
        self._lexeme = ByIdentity(self._find_lexeme)
        self._divided = ByIdentity(self._divide)

    def _conflicts(self, rules: Mapping[str, Expression]) -> set[Expression]:
        budget = Budget(min(MOST_WORK, self._budget.left))
        before = budget.left
        found = Comparison(self, rules, budget).conflicts()
        self._budget.left -= before - budget.left
        return found

    def is_regular(self, expression: Expression) -> bool:
        """Whether it is a regular language, written as one."""
        return self._regular(expression)

    def is_lexeme(self, expression: Expression) -> bool:
        """Whether the lexer reads it as a whole."""
        return self._lexeme(expression)

    def divide(self, expression: Expression) -> tuple[Expression, ...]:
        """What is not one lexeme, one level further: neighbours that are one lexeme are together."""
        return self._divided(expression)

    def _find_regular(self, expression: Expression) -> bool:
        match expression:
            case Rule(name):
                return name in self.regular
            case Concat(items) | Union(items):
                return all(map(self.is_regular, items))
            case Repeat(item):
                return self.is_regular(item)
        return True

    def _find_lexeme(self, expression: Expression) -> bool:
        if self._budget.left <= 0:  # a single character is always read right
            return is_single(expression)
        return expression not in self._apart and self.is_regular(expression)

    def _divide(self, expression: Expression) -> tuple[Expression, ...]:
        match expression:
            case Text(text):
                return tuple(map(Text, text))
            case Concat(items):
                return tuple(self._together(items, Concat))
            case Union(items):
                return tuple(self._together(items, Union))
        raise AssertionError(expression)

    def _together(self, items: tuple[Expression, ...], kind: type[Concat | Union]) -> Iterator[Expression]:
        for is_regular, group in groupby(items, self.is_regular):
            members = tuple(group)
            if is_regular and len(members) < len(items) and self.is_lexeme(kind(members)):
                yield kind(members)
            else:
                yield from members


def top_of(expression: Expression, levels: int) -> Iterator[Expression]:
    """An expression and what it consists of, some levels down; single characters and what rules say are not."""
    todo = [expression]
    while todo and levels:
        yield from todo
        below = [part for one in todo for part in parts_of(one)]
        todo = [part for part in below if not isinstance(part, Rule) and not is_single(part)]
        levels -= 1


def regular_rules(rules: Mapping[str, Expression]) -> set[str]:
    """The rules that reach no recursive one."""
    regular: set[str] = set()
    for component in components(rules):
        if not is_recursive(rules, component) and used(rules[component[0]]) <= regular:
            regular.add(component[0])
    return regular
