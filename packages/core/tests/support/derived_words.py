"""What rules derive, by trying: all words of a few characters."""

from __future__ import annotations

import math

from kernelet.contracts.structured import ROOT, Chars, Concat, GrammarRules, Repeat, Rule, Text


def derived_words(rules: GrammarRules, letters: str, length: int) -> set[str]:
    """The words over the letters, of at most this length, that the root derives."""
    known: dict[str, set[str]] = {name: set() for name in rules.rules}
    while True:
        found = {name: _words(body, known, letters, length) for name, body in rules.rules.items()}
        if found == known:
            return known[ROOT]
        known = found


def shortest_lengths(rules: GrammarRules) -> dict[str, int]:
    """For each rule that derives some text, the fewest characters of one."""
    known: dict[str, float] = dict.fromkeys(rules.rules, math.inf)
    while True:
        found = {name: _length(body, known) for name, body in rules.rules.items()}
        if found == known:
            return {name: int(length) for name, length in known.items() if length < math.inf}
        known = found


def _length(expression, known):
    if isinstance(expression, Text):
        return len(expression.text)
    if isinstance(expression, Chars):
        return 1
    if isinstance(expression, Rule):
        return known[expression.name]
    if isinstance(expression, Repeat):
        return _length(expression.item, known) * expression.minimum if expression.minimum else 0
    lengths = [_length(each, known) for each in expression.items]
    return sum(lengths) if isinstance(expression, Concat) else min(lengths, default=math.inf)


def _words(expression, known, letters, length):
    if isinstance(expression, Text):
        return {expression.text} if len(expression.text) <= length and set(expression.text) <= set(letters) else set()
    if isinstance(expression, Chars):
        return {each for each in letters if any(first <= ord(each) <= last for first, last in expression.ranges)}
    if isinstance(expression, Rule):
        return known[expression.name]
    if isinstance(expression, Concat):
        return _joined([_words(each, known, letters, length) for each in expression.items], length)
    if isinstance(expression, Repeat):
        part = _words(expression.item, known, letters, length)
        most = length + expression.minimum if expression.maximum is None else expression.maximum
        counts = range(expression.minimum, min(most, expression.minimum + length) + 1)
        return set().union(*(_joined([part] * count, length) for count in counts))
    return set().union(*(_words(each, known, letters, length) for each in expression.items))


def _joined(parts, length):
    words = {""}
    for part in parts:
        words = {one + two for one in words for two in part if len(one + two) <= length}
    return words
