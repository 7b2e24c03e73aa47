"""Where lexemes may stand.

llguidance reads a text with a lexer and a parser. Its lexer takes the longest match of what the parser allows and never
goes back, which rules know nothing of. So a regular part is one lexeme only where the longest match is the only one: no
match, with a character that may follow it, begins a match of any lexeme. Where one may, both are taken apart, down to
single characters, which no lexer misreads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from kernelet.contracts.structured import Concat, Expression, Repeat, Rule, Text, Union
from kernelet_structured_guidance.compare import Comparison
from kernelet_structured_guidance.linear import components, is_recursive, used


class Lexemes:
    """Divides rules into lexemes and what the parser reads.

    Attributes:
        regular: The rules that refer to no recursive one.
    """

    def __init__(self, rules: Mapping[str, Expression]) -> None:
        self.regular = regular_rules(rules)
        self._apart: set[Expression] = set()
        while found := Comparison(self, rules).conflicts():
            self._apart |= found

    def is_regular(self, expression: Expression) -> bool:
        """Whether it is a regular language, written as one."""
        match expression:
            case Rule(name):
                return name in self.regular
            case Concat(items) | Union(items):
                return all(map(self.is_regular, items))
            case Repeat(item):
                return self.is_regular(item)
        return True

    def is_lexeme(self, expression: Expression) -> bool:
        """Whether the lexer reads it as a whole."""
        return expression not in self._apart and self.is_regular(expression)

    def divide(self, expression: Expression) -> tuple[Expression, ...]:
        """What is not one lexeme, one level further: neighbours that are one lexeme are together."""
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


def regular_rules(rules: Mapping[str, Expression]) -> set[str]:
    """The rules that reach no recursive one."""
    regular: set[str] = set()
    for component in components(rules):
        if not is_recursive(rules, component) and used(rules[component[0]]) <= regular:
            regular.add(component[0])
    return regular
