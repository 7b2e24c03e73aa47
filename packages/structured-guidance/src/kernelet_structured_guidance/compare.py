"""Which lexemes the lexer may misread: one matches, a character that may follow it goes on with a match of another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from kernelet.contracts.structured import ROOT, Chars, Concat, Expression, Repeat, Rule, Text, Union
from kernelet_structured_guidance.follow import Division, Ends, Follow, union

MOST_POSITIONS: Final = 20_000
"""Characters and classes of all lexemes that are compared."""

MOST_CLASSES: Final = 1_000
"""Different ones of them."""

MOST_WORK: Final = 400_000
"""Of one comparison: pairs of positions that one text may reach, and what is looked at to find them."""

ALL_WORK: Final = 1_500_000
"""Of all comparisons of a grammar; each takes some lexemes apart, and the next compares what they consist of."""

FINAL: Final = 0
"""The node where a lexeme ends."""


class TooLargeError(Exception):
    """More to compare than is worth the time."""


class Budget:
    """Work that may still be done.

    Attributes:
        left: How much that is; what is below zero is spent.
    """

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, work: int) -> None:
        """Raises an error if there is too little left."""
        self.left -= work
        if self.left < 0:
            raise TooLargeError


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
    """The characters and classes of all lexemes, and which may come after which.

    Nodes are what is yet to read: an expression, and then another node. So what goes on in the same way is one
    position, however often an expression repeats it. Bounds of repetitions are left out: more texts are read, so that
    more is found to be misread, never less.

    Attributes:
        ranges: The characters of each position.
        after: The positions that may come next.
    """

    def __init__(self, rules: Mapping[str, Expression], budget: Budget) -> None:
        self._rules = rules
        self._budget = budget
        self._nodes: dict[tuple[object, int], int] = {}
        self._ways: list[list[int]] = [[]]
        self._place: dict[int, int] = {}
        self._then: list[int] = []
        self._reach: dict[int, tuple[list[int], bool]] = {}
        self.ranges: list[tuple[tuple[int, int], ...]] = []
        self.after: list[list[int]] = []

    def add(self, expression: Expression) -> Ends:
        """Adds all positions of a lexeme."""
        self._nodes.clear()  # no lexeme shares positions with another
        first, nullable = self._closure(self._node(expression, FINAL))
        last: list[int] = []
        for place in range(len(self.after), len(self.ranges)):
            after, is_last = self._closure(self._then[place])
            self.after.append(after)
            if is_last:
                last.append(place)
        return Ends(first, last, nullable)

    def _node(self, expression: Expression, then: int) -> int:
        """The node for a text of an expression, and then what another node says."""
        key = (expression if isinstance(expression, Text | Chars | Rule) else id(expression), then)
        if key in self._nodes:
            return self._nodes[key]
        match expression:
            case Text(text):
                node = then
                for character in reversed(text):
                    node = self._character(((ord(character), ord(character)),), node)
            case Chars(ranges):
                node = self._character(ranges, then)
            case Rule(name):
                node = self._node(self._rules[name], then)
            case Concat(items):
                node = then
                for item in reversed(items):
                    node = self._node(item, node)
            case Union(items):
                node = self._new([self._node(item, then) for item in items])
            case Repeat(item, minimum, maximum):
                again = then if maximum == 1 else self._new([then])
                one = self._node(item, again)
                if maximum != 1:
                    self._ways[again].append(one)
                node = one if minimum else self._new([one, then])
        self._nodes[key] = node
        return node

    def _character(self, ranges: tuple[tuple[int, int], ...], then: int) -> int:
        key = (ranges, then)
        if key not in self._nodes:
            if len(self.ranges) >= MOST_POSITIONS:
                raise TooLargeError
            self._nodes[key] = node = self._new([])
            self._place[node] = len(self.ranges)
            self.ranges.append(ranges)
            self._then.append(then)
        return self._nodes[key]

    def _new(self, ways: list[int]) -> int:
        self._budget.spend(1 + len(ways))
        self._ways.append(ways)
        return len(self._ways) - 1

    def _closure(self, start: int) -> tuple[list[int], bool]:
        """The positions that come next at a node, and whether the lexeme may end there."""
        if start not in self._reach:
            todo = [start]
            seen = {start}
            places: list[int] = []
            while todo:
                node = todo.pop()
                if node in self._place:
                    places.append(self._place[node])
                new = [way for way in self._ways[node] if way not in seen]
                seen.update(new)
                todo.extend(new)
            self._budget.spend(len(seen))
            self._reach[start] = sorted(places), FINAL in seen
        return self._reach[start]


class Comparison:
    """All lexemes of a grammar against each other."""

    def __init__(self, division: Division, rules: Mapping[str, Expression], budget: Budget) -> None:
        self._division = division
        self._budget = budget
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
        positions = Positions(self._rules, self._budget)
        ends: dict[Expression, Ends] = {}
        owner: list[Expression] = []
        for lexeme in self._lexemes:
            ends[lexeme] = positions.add(lexeme)
            owner.extend([lexeme] * (len(positions.ranges) - len(owner)))
        if not any(positions.after):
            return set()  # single characters, which nothing extends
        alphabet = Alphabet(chain.from_iterable(positions.ranges))
        bits = [alphabet.bits(ranges) for ranges in positions.ranges]
        follow = Follow(self._division, self._read, ends, bits).after
        after_last = {place: follow[lexeme] for lexeme, end in ends.items() for place in end.last}
        goes_on = [union(bits[place] for place in after) for after in positions.after]
        starts = [place for end in ends.values() for place in end.first]
        found: set[Expression] = set()
        for one, others in pairs(starts, positions.after, bits, self._budget).items():
            if characters := after_last.get(one, 0):
                for other in places_of(others):
                    if goes_on[other] & characters:
                        found |= {owner[one], owner[other]}
        return found


def pairs(starts: Sequence[int], after: Sequence[Sequence[int]], bits: Sequence[int], budget: Budget) -> dict[int, int]:
    """All pairs of positions that one text may reach from the starts: for each position the others, as bits."""
    of_class: dict[int, int] = {}
    for place, one in enumerate(bits):
        of_class[one] = of_class.get(one, 0) | 1 << place
    if len(of_class) > MOST_CLASSES:
        raise TooLargeError
    meets = {one: union(places for other, places in of_class.items() if one & other) for one in of_class}
    next_of = [union(1 << place for place in places) for places in after]
    first = union(1 << place for place in starts)
    todo = {one: first & meets[bits[one]] for one in starts}
    seen: dict[int, int] = {}
    while todo:
        one, others = todo.popitem()
        seen[one] = seen.get(one, 0) | others
        budget.spend(others.bit_count() + len(after[one]))
        then = union(next_of[other] for other in places_of(others))
        for place in after[one]:
            new = then & meets[bits[place]] & ~seen.get(place, 0)
            if new:
                todo[place] = todo.get(place, 0) | new
    return seen


def places_of(bits: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def is_single(expression: Expression) -> bool:
    """Whether it is one character, which cannot be taken apart."""
    return isinstance(expression, Chars) or (isinstance(expression, Text) and len(expression.text) == 1)
