"""What an expression costs as an automaton."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import takewhile
from typing import Final

from kernelet.contracts.structured import Chars, Concat, Expression, GrammarRules, Repeat, Rule, Text, Union, walk

TOKEN_VISITS: Final = 300_000_000
"""What one part of a grammar may cost to compile: masks times tokens of the vocabulary."""

MOST_STATES: Final = 20_000
"""Of one automaton, however small the vocabulary is."""

BROAD: Final = 26
"""Characters of a class that many tokens consist of."""

BROAD_COST: Final = 40
"""Of the mask of a state where such a class is read; of others it is 1: few tokens are tried."""

MOST_COUNTED: Final = 64
"""Repetitions of a class that are states of an automaton."""

TOO_MUCH: Final = 1 << 40


class Measure:
    """Costs of a grammar's parts as automata: masks that are computed, weighted by the tokens that are tried."""

    def __init__(self, rules: GrammarRules, num_tokens: int) -> None:
        self._rules = rules.rules
        self._visits = TOKEN_VISITS // num_tokens
        self.limit = min(MOST_STATES, self._visits)
        self._costs: dict[str, int] = {}
        self._with_text = rules_with_text(rules)
        uses = Counter(part.name for rule in rules.rules.values() for part in walk(rule) if isinstance(part, Rule))
        for name in leaves_first(rules):
            cost = self.cost(rules.rules[name])
            # what is used often is compiled once
            self._costs[name] = cost if cost * uses[name] <= self.limit else TOO_MUCH

    def has_text(self, name: str) -> bool:
        """Whether a rule derives more than the empty text."""
        return name in self._with_text

    def is_automaton(self, expression: Expression) -> bool:
        """Whether it is written as one."""
        return self.cost(expression) < TOO_MUCH

    def cost(self, expression: Expression) -> int:
        """``TOO_MUCH`` for what keeps a rule of its own."""
        match expression:
            case Text(text):
                return len(text.encode())
            case Chars():
                return BROAD_COST if is_broad(expression) else 1
            case Rule(name):
                return self._costs.get(name, TOO_MUCH)
            case Concat(items) | Union(items):
                return min(TOO_MUCH, sum(map(self.cost, items)))
            case Repeat(Chars(), _, maximum) if maximum is not None and maximum > MOST_COUNTED:
                return TOO_MUCH  # the library counts characters of a class without trying tokens
            case Repeat(item, minimum, maximum):
                cost = self.cost(item) * (maximum or max(minimum, 1))
                return cost if cost <= self.limit else TOO_MUCH

    def is_slow(self, repeat: Repeat) -> bool:
        """Whether most tokens would be tried at every step: each spans several of the items, and none is counted."""
        cost = self.cost(repeat.item)
        if isinstance(repeat.item, Chars) or cost == TOO_MUCH or repeat.maximum is None:
            return False
        return cost * repeat.maximum > self._visits and self._begins_broad(repeat.item)

    def _begins_broad(self, expression: Expression) -> bool:
        """Whether many tokens begin an automaton's texts."""
        match expression:
            case Chars():
                return is_broad(expression)
            case Rule(name):
                return self._begins_broad(self._rules[name])
            case Concat(items):
                begins = takewhile(self._is_nullable, items)
                return any(map(self._begins_broad, items[: len(list(begins)) + 1]))
            case Union(items):
                return any(map(self._begins_broad, items))
            case Repeat(item):
                return self._begins_broad(item)
        return False

    def _is_nullable(self, expression: Expression) -> bool:
        """Whether an automaton reads the empty text."""
        match expression:
            case Rule(name):
                return self._is_nullable(self._rules[name])
            case Concat(items):
                return all(map(self._is_nullable, items))
            case Union(items):
                return any(map(self._is_nullable, items))
            case Repeat(item, minimum):
                return not minimum or self._is_nullable(item)
        return False


def is_broad(chars: Chars) -> bool:
    """Whether many tokens consist of these characters."""
    return sum(last - first + 1 for first, last in chars.ranges) >= BROAD


def rules_with_text(rules: GrammarRules) -> set[str]:
    """The rules that derive more than the empty text: any of them has characters, or reaches one that has."""
    users: dict[str, list[str]] = {name: [] for name in rules.rules}
    found: set[str] = set()
    for name, expression in rules.rules.items():
        for part in walk(expression):
            if isinstance(part, Rule):
                users[part.name].append(name)
            elif isinstance(part, Text | Chars):
                found.add(name)
    todo = list(found)
    while todo:
        new = set(users[todo.pop()]) - found
        found |= new
        todo.extend(new)
    return found


def leaves_first(rules: GrammarRules) -> Iterator[str]:
    """The rules that reach no recursive one, each after those that it refers to."""
    users: dict[str, set[str]] = {name: set() for name in rules.rules}
    missing: dict[str, int] = {}
    for name, expression in rules.rules.items():
        used = {part.name for part in walk(expression) if isinstance(part, Rule)}
        missing[name] = len(used)
        for other in used:
            users[other].add(name)
    ready = [name for name, count in missing.items() if not count]
    while ready:
        yield (name := ready.pop())
        for user in users[name]:
            missing[user] -= 1
            if not missing[user]:
                ready.append(user)
