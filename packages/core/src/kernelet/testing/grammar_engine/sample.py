"""Texts that rules derive."""

from __future__ import annotations

import math
from random import Random

from kernelet.contracts.structured import ROOT, Chars, Concat, Expression, GrammarRules, Repeat, Rule, Text, Union

MORE = 4
"""Times that a repeat without a bound is written beyond its minimum, at most; and of one with bounds."""


def sample_text(rules: GrammarRules, random: Random, size: int = 20) -> str:
    """A text that the rules derive.

    Args:
        rules: As ``GrammarRules`` promises them.
        random: Decides.
        size: Expressions that are chosen freely; from then on the text ends as soon as it can.
    """
    return _Writer(rules, random, size).write(rules.rules[ROOT])


class _Writer:
    """One text; ``left`` is what remains of its size."""

    def __init__(self, rules: GrammarRules, random: Random, size: int) -> None:
        self._rules = rules.rules
        self._random = random
        self._left = size
        self._heights = _heights(rules)

    def write(self, expression: Expression) -> str:
        self._left -= 1
        if isinstance(expression, Text):
            return expression.text
        if isinstance(expression, Chars):
            first, last = self._random.choice(expression.ranges)
            return chr(self._random.choice([first, last, self._random.randint(first, last)]))
        if isinstance(expression, Rule):
            return self.write(self._rules[expression.name])
        if isinstance(expression, Concat):
            return "".join(map(self.write, expression.items))
        if isinstance(expression, Repeat):
            return "".join(self.write(expression.item) for _ in range(self._times(expression)))
        return self.write(self._one_of(expression))

    def _times(self, repeat: Repeat) -> int:
        if self._left < 0:
            return repeat.minimum
        most = repeat.minimum + MORE if repeat.maximum is None else min(repeat.maximum, repeat.minimum + MORE)
        return self._random.randint(repeat.minimum, most)

    def _one_of(self, union: Union) -> Expression:
        if self._left >= 0:
            return self._random.choice(union.items)
        return min(union.items, key=lambda item: _height(item, self._heights))


def _heights(rules: GrammarRules) -> dict[str, float]:
    """How deep the least deep text of each rule goes through rules: what a text ends by."""
    heights: dict[str, float] = dict.fromkeys(rules.rules, math.inf)
    for _ in rules.rules:
        found = {name: 1 + _height(expression, heights) for name, expression in rules.rules.items()}
        if found == heights:
            break
        heights = found
    return heights


def _height(expression: Expression, heights: dict[str, float]) -> float:
    if isinstance(expression, Rule):
        return heights[expression.name]
    if isinstance(expression, Repeat):
        return _height(expression.item, heights) if expression.minimum else 0
    if isinstance(expression, Concat):
        return max((_height(item, heights) for item in expression.items), default=0)
    if isinstance(expression, Union):
        return min(_height(item, heights) for item in expression.items)
    return 0
