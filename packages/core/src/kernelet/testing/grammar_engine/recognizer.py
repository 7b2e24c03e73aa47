"""Whether rules derive a text: Earley's algorithm over characters, slow and obvious."""

from __future__ import annotations

from dataclasses import dataclass

from kernelet.contracts.structured import ROOT, Chars, Concat, Expression, GrammarRules, Repeat, Rule, Text, Union

Ranges = tuple[tuple[int, int], ...]
Item = tuple[int, int, "State"]
"""A node of the grammar that is being read, how far it is, and where it began."""


def recognizes(rules: GrammarRules, text: str) -> bool:
    """Whether the rules derive this text."""
    state = Recognizer(rules).read(text)
    return state is not None and state.is_whole


def is_prefix(rules: GrammarRules, text: str) -> bool:
    """Whether the rules derive this text or a longer one that begins with it."""
    return Recognizer(rules).read(text) is not None


class State:
    """Where a text may stand after some character; never changes once it is made.

    Attributes:
        scans: What reads the next character, and which ones.
        waiting: By node, what goes on where a node ends that begins here.
        is_whole: The text so far is derived.
        after: States that follow, by what has read their character.
    """

    __slots__ = ("after", "is_whole", "scans", "waiting")

    def __init__(self) -> None:
        self.scans: list[tuple[Ranges, Item]] = []
        self.waiting: dict[int, list[Item]] = {}
        self.is_whole = False
        self.after: dict[frozenset[Item], State] = {}

    def allows(self, first: int, last: int) -> bool:
        """Whether a character of these code points may come next."""
        return any(max(low, first) <= min(high, last) for ranges, _ in self.scans for low, high in ranges)

    def only(self) -> str:
        """The one character that may come next; empty where there are others, or the text is whole."""
        points = {point for ranges, _ in self.scans for one in ranges for point in one}
        return chr(min(points)) if len(points) == 1 and not self.is_whole else ""


class Recognizer:
    """Reads texts by rules, which must be as ``GrammarRules`` promises: then every state can be continued to an end.

    Attributes:
        start: Of the empty text.
    """

    def __init__(self, rules: GrammarRules) -> None:
        self._nodes = [_Node(one_of=True) for _ in rules.rules]
        self._rules = {name: number for number, name in enumerate(rules.rules)}
        for name, expression in rules.rules.items():
            self._nodes[self._rules[name]].children = (self._add(expression),)
        self._mark_nullable()
        self._root = self._rules[ROOT]
        self.start = State()
        self._fill(self.start, [(self._root, 0, self.start)])

    def step(self, state: State, character: str) -> State | None:
        """Where the text stands after one more character; None: no derived text goes on so."""
        code = ord(character)
        read = frozenset(item for ranges, item in state.scans if any(low <= code <= high for low, high in ranges))
        if not read:
            return None
        if read not in state.after:
            after = State()
            self._fill(after, [(node, dot + 1, origin) for node, dot, origin in read])
            state.after[read] = after
        return state.after[read]

    def read(self, text: str) -> State | None:
        """Where the text stands after all of these characters."""
        state: State | None = self.start
        for character in text:
            state = self.step(state, character) if state else None
        return state

    def _add(self, expression: Expression) -> int:
        """The number of an expression's node."""
        if isinstance(expression, Rule):
            return self._rules[expression.name]
        if isinstance(expression, Text):
            node = _Node(text=tuple(((ord(character), ord(character)),) for character in expression.text))
        elif isinstance(expression, Chars):
            node = _Node(text=(expression.ranges,))
        elif isinstance(expression, Repeat):
            node = _Node(children=(self._add(expression.item),), times=(expression.minimum, expression.maximum))
        else:
            assert isinstance(expression, Concat | Union), expression
            node = _Node(children=tuple(map(self._add, expression.items)), one_of=isinstance(expression, Union))
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _mark_nullable(self) -> None:
        """Finds the nodes that derive the empty text."""
        found = True
        while found:
            found = False
            for node in self._nodes:
                if not node.nullable and node.is_empty([self._nodes[child].nullable for child in node.children]):
                    node.nullable = found = True
        for node in self._nodes:
            if node.times and self._nodes[node.children[0]].nullable:
                node.times = (0, node.times[1])  # any of them may be empty: only the others are counted

    def _fill(self, state: State, items: list[Item]) -> None:
        """Adds what follows from the items that have read the last character."""
        seen = set(items)

        def add(number: int, dot: int, origin: State) -> None:
            if (number, dot, origin) not in seen:
                seen.add((number, dot, origin))
                items.append((number, dot, origin))

        for number, dot, origin in items:  # grows on the way
            node = self._nodes[number]
            if node.ends_at(dot):
                state.is_whole |= number == self._root and origin is self.start
                if origin is not state:  # an empty node has been passed over where it was expected
                    for waiting, place, begin in origin.waiting.get(number, ()):
                        add(waiting, self._nodes[waiting].next(place), begin)
            if dot < len(node.text):
                state.scans.append((node.text[dot], (number, dot, origin)))
            for child in node.expects(dot):
                state.waiting.setdefault(child, []).append((number, dot, origin))
                add(child, 0, state)
                if self._nodes[child].nullable and not node.times:
                    add(number, node.next(dot), origin)


@dataclass(eq=False, kw_only=True)
class _Node:
    """An expression: characters, or children one after the other, any one of them, or one of them many times.

    What is read of it counts as a dot: characters, children, or times.
    """

    text: tuple[Ranges, ...] = ()
    children: tuple[int, ...] = ()
    one_of: bool = False
    times: tuple[int, int | None] | None = None
    nullable: bool = False

    def is_empty(self, nullable: list[bool]) -> bool:
        """Whether it derives the empty text, if these of its children do."""
        if self.times:
            return self.times[0] == 0 or nullable[0]
        return not self.text and (any(nullable) if self.one_of else all(nullable))

    def ends_at(self, dot: int) -> bool:
        if self.times:
            return dot >= self.times[0]
        return dot == (1 if self.one_of else len(self.text) + len(self.children))

    def expects(self, dot: int) -> tuple[int, ...]:
        """The children that may come at a dot."""
        if self.times:
            return self.children if self.times[1] is None or dot < self.times[1] else ()
        if self.one_of:
            return self.children if dot == 0 else ()
        return self.children[dot : dot + 1]

    def next(self, dot: int) -> int:
        """The dot behind a child."""
        if self.times and self.times[1] is None:
            return min(dot + 1, self.times[0])  # beyond the minimum nobody counts
        return dot + 1
