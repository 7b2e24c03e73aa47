"""Grammar rules as one regular expression in the dialect of Rust's regex-automata."""

from __future__ import annotations

from typing import Final

from kernelet.contracts.structured import ROOT, Chars, Concat, Expression, GrammarRules, Repeat, Rule, Text, Union

SHORT: Final[dict[tuple[int, int | None], str]] = {(0, None): "*", (1, None): "+", (0, 1): "?"}


def regex_of(rules: GrammarRules) -> str:
    """The same language. Rules are written where they are referred to; none may refer to itself."""
    return _Writer(rules).write(rules.rules[ROOT])


class _Writer:
    """Keeps the text of each rule, which may be needed often."""

    def __init__(self, rules: GrammarRules) -> None:
        self._rules = rules.rules
        self._written: dict[str, str] = {}

    def write(self, expression: Expression) -> str:
        """An expression that may be all there is."""
        match expression:
            case Text(text):
                return "".join(map(_character, text))
            case Chars(ranges):
                return f"[{''.join(_range(first, last) for first, last in ranges)}]"
            case Rule(name):
                if name not in self._written:
                    self._written[name] = self.write(self._rules[name])
                return self._written[name]
            case Concat(items):
                return "".join(map(self._part, items))
            case Union(items):
                return "|".join(map(self.write, items))
            case Repeat(item, minimum, maximum):
                return f"{self._unit(item)}{_times(minimum, maximum)}"

    def _part(self, expression: Expression) -> str:
        """An expression that others stand beside."""
        if isinstance(expression, Union | Rule):
            return self._group(expression)
        return self.write(expression)

    def _unit(self, expression: Expression) -> str:
        """An expression that is followed by a number of times."""
        single = isinstance(expression, Chars) or (isinstance(expression, Text) and len(expression.text) == 1)
        return self.write(expression) if single else self._group(expression)

    def _group(self, expression: Expression) -> str:
        return f"(?:{self.write(expression)})"


def _times(minimum: int, maximum: int | None) -> str:
    if (minimum, maximum) in SHORT:
        return SHORT[minimum, maximum]
    return f"{{{minimum},{'' if maximum is None else maximum}}}"


def _range(first: int, last: int) -> str:
    return _character(chr(first)) if first == last else f"{_character(chr(first))}-{_character(chr(last))}"


def _character(character: str) -> str:
    return character if character.isascii() and character.isalnum() else f"\\x{{{ord(character):x}}}"
