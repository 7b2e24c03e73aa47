"""Grammar rules as a graph: nodes that read characters, call rules, or end the rule that was called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final

import msgspec

from kernelet.contracts.structured import ROOT, Chars, Concat, Expression, GrammarRules, Repeat, Rule, Text, Union

END: Final = 0
"""The node where every rule ends."""

MOST_NODES: Final = 200_000

Ranges = tuple[tuple[int, int], ...]


class Node(msgspec.Struct, frozen=True, array_like=True):
    """A place in the rules.

    Attributes:
        reads: Characters, by their number, and where they lead.
        calls: Rules, by their number, and where they lead.
        skips: Where nothing leads.
    """

    reads: tuple[tuple[int, int], ...] = ()
    calls: tuple[tuple[int, int], ...] = ()
    skips: tuple[int, ...] = ()


class Graph(msgspec.Struct, frozen=True, array_like=True):
    """All rules.

    Attributes:
        nodes: By number; the first is ``END``.
        starts: The node that each rule starts with; the first rule is the root.
        characters: What nodes read.
    """

    nodes: tuple[Node, ...]
    starts: tuple[int, ...]
    characters: tuple[Ranges, ...]


def graph_of(rules: GrammarRules) -> Graph:
    """The same language.

    Raises:
        ValueError: A rule is not there, or there are too many nodes, or too deep ones.
    """
    try:
        return _Builder(rules).build()
    except RecursionError:
        raise ValueError("for lmfe, its expressions are nested too deeply") from None


class _Builder:
    """Builds expressions from their ends to their starts."""

    def __init__(self, rules: GrammarRules) -> None:
        if ROOT not in rules.rules:
            raise ValueError(f"there is no rule {ROOT!r}")
        names = [ROOT, *(name for name in rules.rules if name != ROOT)]
        self._expressions = [rules.rules[name] for name in names]
        self._numbers = {name: number for number, name in enumerate(names)}
        self._nullable = _nullable_rules(rules.rules)
        self._nodes = [Node()]
        self._characters: dict[Ranges, int] = {}
        self._starts: list[int] = []

    def build(self) -> Graph:
        # A rule whose call is the last thing of another is gone to instead, so that its start must be known before.
        self._starts = [self._add(Node()) for _ in self._expressions]
        number = 0
        while number < len(self._expressions):  # grows on the way
            entry = self._before(self._expressions[number], END)
            self._nodes[self._starts[number]] = Node(skips=(entry,))
            number += 1
        return Graph(tuple(self._nodes), tuple(self._starts), tuple(self._characters))

    def _before(self, expression: Expression, target: int) -> int:
        """The node that an expression starts with which leads to ``target``."""
        match expression:
            case Text(text):
                return reduce(lambda node, code: self._read(((code, code),), node), map(ord, reversed(text)), target)
            case Chars(ranges):
                return self._read(ranges, target)
            case Concat(items):
                return reduce(lambda node, item: self._before(item, node), reversed(items), target)
            case Union(items):
                return self._add(Node(skips=tuple(self._before(item, target) for item in items)))
            case Rule(name):
                return self._call(name, target)
            case Repeat():
                return self._repeat(expression, target)

    def _repeat(self, repeat: Repeat, target: int) -> int:
        once = self._unit(repeat)
        if repeat.maximum is None:
            node = self._add(Node())
            self._nodes[node] = Node(skips=(once(node), target))
        else:
            node = target
            for _ in range(repeat.maximum - repeat.minimum):
                node = self._add(Node(skips=(once(node), target)))
        for _ in range(repeat.minimum):
            node = once(node)
        return node

    def _unit(self, repeat: Repeat) -> Callable[[int], int]:
        """Writes what is repeated once: large ones are a rule of their own, so that many times are few nodes."""
        item = repeat.item
        if max(repeat.minimum, repeat.maximum or 1) == 1 or isinstance(item, Text | Chars | Rule):
            return lambda target: self._before(item, target)
        number = len(self._expressions)
        self._expressions.append(item)
        self._starts.append(self._add(Node()))
        nullable = _is_nullable(item, self._nullable)
        return lambda target: self._call_number(number, target, nullable=nullable)

    def _call(self, name: str, target: int) -> int:
        if name not in self._numbers:
            raise ValueError(f"there is no rule {name!r}")
        return self._call_number(self._numbers[name], target, nullable=name in self._nullable)

    def _call_number(self, number: int, target: int, *, nullable: bool) -> int:
        if target == END:
            return self._starts[number]
        return self._add(Node(calls=((number, target),), skips=(target,) if nullable else ()))

    def _read(self, ranges: Ranges, target: int) -> int:
        return self._add(Node(reads=((self._characters.setdefault(ranges, len(self._characters)), target),)))

    def _add(self, node: Node) -> int:
        if len(self._nodes) == MOST_NODES:
            raise ValueError(
                f"too large for lmfe: more than {MOST_NODES} places; repeats multiply what they repeat: "
                "give lengths and numbers of items smaller bounds, or none"
            )
        self._nodes.append(node)
        return len(self._nodes) - 1


def _nullable_rules(rules: Mapping[str, Expression]) -> frozenset[str]:
    """Names of the rules that derive the empty text."""
    found: frozenset[str] = frozenset()
    while True:
        more = frozenset(name for name, expression in rules.items() if _is_nullable(expression, found))
        if more == found:
            return found
        found = more


def _is_nullable(expression: Expression, rules: frozenset[str]) -> bool:
    match expression:
        case Text() | Chars():
            return False
        case Rule(name):
            return name in rules
        case Concat(items):
            return all(_is_nullable(item, rules) for item in items)
        case Union(items):
            return any(_is_nullable(item, rules) for item in items)
        case Repeat(item, minimum, _):
            return minimum == 0 or _is_nullable(item, rules)
