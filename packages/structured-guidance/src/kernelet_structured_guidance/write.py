"""Grammar rules as the Lark text that llguidance reads."""

from __future__ import annotations

from itertools import count
from typing import Final

from kernelet.contracts.structured import (
    ROOT,
    Chars,
    Concat,
    Expression,
    GrammarRules,
    Repeat,
    Rule,
    Text,
    Union,
    parts_of,
)
from kernelet_structured_guidance.lexemes import FromBelow, Lexemes
from kernelet_structured_guidance.linear import without_chains

PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _:,;!<>=@%&'~`\"")
"""Characters that mean themselves in regular expressions and classes; all others are written as code points."""

SHORT: Final[dict[tuple[int, int | None], str]] = {(0, None): "*", (1, None): "+", (0, 1): "?"}

MOST_NESTED: Final = 10
"""Levels of brackets; the library reads 29. What is deeper has a name of its own."""

MOST_NESTED_REGEX: Final = 50
"""Levels of brackets in a regular expression; the library reads 250."""

OPTIONS: Final = '%llguidance {"no_forcing": true}'
"""Masks allow every way to cut a forced text into tokens, not only the tokenizer's own."""


def lark_of(rules: GrammarRules) -> str:
    """The same language."""
    return "\n".join([OPTIONS, *Writer(rules).lines, ""])


class Writer:
    """Writes the rules of one grammar.

    Attributes:
        lines: Of the result: rules in lower case, which the parser reads, and terminals, which the lexer does.
    """

    def __init__(self, rules: GrammarRules) -> None:
        self._rules = without_chains(rules.rules)
        self._lexemes = Lexemes(self._rules)
        self._terminals: dict[Expression, str] = {}
        self._nesting = FromBelow(self._find_nesting)
        self._numbers = count()
        self._names: set[str] = set()
        self._todo: list[str] = []
        self.lines: list[str] = []
        self.lines.append(f"start: {self._rule(Rule(ROOT))}")
        while self._todo:
            name = self._todo.pop()
            self.lines.append(f"{name}: {self._rule(self._rules[name.removeprefix('r_')])}")

    def _rule(self, expression: Expression, depth: int = 0) -> str:
        """What the parser reads, within some levels of brackets."""
        if self._lexemes.is_lexeme(expression):
            return self._terminal(expression)
        if isinstance(expression, Rule):
            return self._parser_rule(f"r_{expression.name}")
        if depth >= MOST_NESTED:
            name = f"p{next(self._numbers)}"
            self.lines.append(f"{name}: {self._rule(expression)}")
            return name
        if isinstance(expression, Repeat):
            return f"({self._rule(expression.item, depth + 1)}){times(expression.minimum, expression.maximum)}"
        joint = " | " if isinstance(expression, Union) else " "
        items = [self._rule(item, depth + 1) for item in self._lexemes.divide(expression)]
        return f"({joint.join(items)})" if items else '""'

    def _parser_rule(self, name: str) -> str:
        if name not in self._names:
            self._names.add(name)
            self._todo.append(name)
        return name

    def _terminal(self, expression: Expression) -> str:
        """The name of a terminal."""
        if expression not in self._terminals:
            name = f"R_{expression.name.upper()}" if isinstance(expression, Rule) else f"T{len(self._terminals)}"
            self._terminals[expression] = name
            said = self._rules[expression.name] if isinstance(expression, Rule) else expression
            self.lines.append(f"{name}: {self._lexeme(said)}")
        return self._terminals[expression]

    def _lexeme(self, expression: Expression, depth: int = 0) -> str:
        """What a terminal is: one regular expression, or several where rules have names or much is nested."""
        if self._nesting(expression) <= MOST_NESTED_REGEX:
            return f"/{regex}/" if (regex := regex_of(expression)) else '""'
        if isinstance(expression, Rule) or depth >= MOST_NESTED:
            return self._terminal(expression)
        items = [self._lexeme(item, depth + 1) for item in parts_of(expression)]
        if isinstance(expression, Repeat):
            return f"({items[0]}){times(expression.minimum, expression.maximum)}"
        return f"({(' | ' if isinstance(expression, Union) else ' ').join(items)})"

    def _find_nesting(self, expression: Expression) -> int:
        """Levels of brackets of a regular expression; more than one may have where a rule is named."""
        if isinstance(expression, Rule):
            return MOST_NESTED_REGEX + 1
        return max((1 + self._nesting(part) for part in parts_of(expression)), default=0)


def regex_of(expression: Expression) -> str:
    """A regular expression, of what names no rule."""
    match expression:
        case Text(text):
            return "".join(map(_escape, text))
        case Chars(ranges):
            return f"[{''.join(_range(first, last) for first, last in ranges)}]"
        case Concat(items):
            return "".join(map(regex_of, items))
        case Union(items):
            return f"({'|'.join(map(regex_of, items))})"
        case Repeat(item, minimum, maximum):
            return f"({regex_of(item)}){times(minimum, maximum)}"
    raise AssertionError(expression)


def times(minimum: int, maximum: int | None) -> str:
    """How often, as regular expressions and Lark say it."""
    if (minimum, maximum) in SHORT:
        return SHORT[minimum, maximum]
    return f"{{{minimum},{'' if maximum is None else maximum}}}"


def _range(first: int, last: int) -> str:
    return _escape(chr(first)) if first == last else f"{_escape(chr(first))}-{_escape(chr(last))}"


def _escape(character: str) -> str:
    return character if character in PLAIN else f"\\x{{{ord(character):x}}}"
