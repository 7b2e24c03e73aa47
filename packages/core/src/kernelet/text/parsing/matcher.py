"""Finds the first marker in a text that comes in pieces, and holds back what may still become one.

All markers of a state are followed at once, by an automaton that is built as far as texts need it.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelet.contracts.parsing import WHITESPACE, check_markers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kernelet.contracts.parsing import Exit

Item = str | frozenset[str]
"""A symbol (a character, or a whole marker that is one token), or a run of any of some characters."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """An exit's marker as items, of which the last is a symbol."""

    exit: Exit
    items: tuple[Item, ...]
    anchored: bool


@dataclass(frozen=True, slots=True)
class Found:
    """A piece of text, looked at.

    Attributes:
        text: What is certainly no part of a marker.
        used: Characters of the piece that were looked at: all of them, unless a marker ended.
        exit: The marker that ended.
        marker: Its text as it stood.
    """

    text: str
    used: int
    exit: Exit | None = None
    marker: str = ""


Place = tuple[int, int]
"""A pattern's number, and how many of its items have been seen."""


@dataclass(frozen=True, slots=True)
class Move:
    """What one symbol does to the markers that may be under way.

    Attributes:
        node: The markers that still may be.
        sources: For each of its places, the index of the place before; the number of those: it begins here.
        done: Numbers of patterns that are whole, and sources of their last places.
    """

    node: Node
    sources: tuple[int, ...]
    done: tuple[tuple[int, int], ...]


class Node:
    """Places of markers that may be under way, those that began first in front; what follows is found when needed."""

    __slots__ = ("moves", "places")

    def __init__(self, places: tuple[Place, ...]) -> None:
        self.places = places
        self.moves: tuple[dict[str, Move], dict[str, Move]] = ({}, {})

    def __deepcopy__(self, _: object) -> Node:
        """Shared by all texts."""
        return self


class Patterns:
    """The exits of one state; shared by all texts.

    Args:
        exits: Whose markers are looked for.
        is_token: Whether a text is one token of the vocabulary.

    Raises:
        ValueError: A marker is empty, or begins another one.
    """

    def __init__(self, exits: Iterable[Exit], is_token: Callable[[str], bool]) -> None:
        exits = tuple(exits)
        check_markers(exits)
        self.all = tuple(_pattern(exit_, is_token) for exit_ in exits)
        self.first = _characters(self.all)
        self.later = _characters(pattern for pattern in self.all if not pattern.anchored)
        items = [item for pattern in self.all for item in pattern.items]
        self.tokens = frozenset(item for item in items if _is_token_item(item))
        self.root = Node(())
        self._known = {symbol for item in items for symbol in ([item] if isinstance(item, str) else item)}
        self._nodes = {self.root.places: self.root}

    def __deepcopy__(self, _: object) -> Patterns:
        """Shared by all texts."""
        return self

    def move(self, node: Node, symbol: str, *, fresh: bool) -> Move:
        """What a symbol does.

        Args:
            node: The markers that may be under way.
            symbol: A character or a token.
            fresh: Nothing but whitespace came before: patterns that are anchored may begin.
        """
        if symbol not in self._known:
            symbol = ""
        moves = node.moves[fresh]
        move = moves.get(symbol)
        if move is None:
            move = moves[symbol] = self._make_move(node, symbol, fresh=fresh)
        return move

    def _make_move(self, node: Node, symbol: str, *, fresh: bool) -> Move:
        new = len(node.places)
        begun = [(number, 0) for number, pattern in enumerate(self.all) if fresh or not pattern.anchored]
        sources: dict[Place, int] = {}  # of two ways to one place, the one that began first
        done: list[tuple[int, int]] = []
        for source, (number, at) in (*enumerate(node.places), *((new, place) for place in begun)):
            items = self.all[number].items
            for after in _advance(items, at, symbol):
                if after == len(items):
                    done.append((number, source))
                else:
                    sources.setdefault((number, after), source)
        places = tuple(sources)
        return Move(self._nodes.setdefault(places, Node(places)), tuple(sources.values()), tuple(done))


def _characters(patterns: Iterable[Pattern]) -> re.Pattern[str] | None:
    """Finds where one of the patterns may begin."""
    symbols = {symbol for pattern in patterns for symbol in _first_symbols(pattern.items)}
    characters = "".join(re.escape(symbol) for symbol in sorted(symbols) if len(symbol) == 1)
    return re.compile(f"[{characters}]") if characters else None


def _is_token_item(item: Item) -> bool:
    return isinstance(item, str) and len(item) > 1


def _pattern(exit_: Exit, is_token: Callable[[str], bool]) -> Pattern:
    items: list[Item] = []
    run = exit_.before + (WHITESPACE if exit_.at_start else "")
    for part in exit_.parts:
        if run:
            items.append(frozenset(run))
        items += [part] if is_token(part) else list(part)
        run = WHITESPACE
    return Pattern(exit_, tuple(items), exit_.at_start)


def _first_symbols(items: tuple[Item, ...]) -> set[str]:
    first = items[0]
    if isinstance(first, str):
        return {first}
    return set(first) | _first_symbols(items[1:])


class Matcher:
    """One text. Every character is looked at once.

    Args:
        patterns: What to look for.
        fresh: The text begins here; else exits that count at the start do not.
    """

    def __init__(self, patterns: Patterns, *, fresh: bool = True) -> None:
        self._patterns = patterns
        self._fresh = fresh
        self._node = patterns.root
        self._starts: list[int] = []
        self._held: deque[str] = deque()
        self._first = 0
        self._end = 0

    def feed(self, text: str) -> Found:
        """Looks at text up to the end of the first marker."""
        shown: list[str] = []
        place = 0
        while place < len(text):
            if not self._starts:
                next_start = self._next_start(text, place)
                if next_start > place:
                    self._fresh = False
                    shown.append(text[place:next_start])
                    place = next_start
                    continue
            found = self._step(text[place], shown)
            place += 1
            if found is not None:
                return Found("".join(shown), place, *found)
        return Found("".join(shown), len(text))

    def token(self, marker: str) -> Found | None:
        """Takes a marker that is one token; None if none of the exits has it: nothing was taken then."""
        if marker not in self._patterns.tokens:
            return None
        shown: list[str] = []
        found = self._step(marker, shown)
        return Found("".join(shown), len(marker), *(found or ()))

    def flush(self) -> str:
        """No marker comes any more: what was held back."""
        shown: list[str] = []
        self._release(self._end, shown)
        self._node, self._starts = self._patterns.root, []
        self._fresh = False
        return "".join(shown)

    def _next_start(self, text: str, place: int) -> int:
        first = self._patterns.first if self._fresh else self._patterns.later
        found = first.search(text, place) if first is not None else None
        return found.start() if found is not None else len(text)

    def _step(self, symbol: str, shown: list[str]) -> tuple[Exit, str] | None:
        """One symbol more; returns the marker that ended, and adds to `shown` what is none."""
        move = self._patterns.move(self._node, symbol, fresh=self._fresh)
        before = [*self._starts, self._end]
        self._held.append(symbol)
        self._end += 1
        self._fresh = self._fresh and symbol in WHITESPACE
        if move.done:
            start, number = min((before[source], number) for number, source in move.done)
            self._release(start, shown)
            marker = "".join(self._held)
            self._held.clear()
            self._first = self._end
            self._node, self._starts = self._patterns.root, []
            return self._patterns.all[number].exit, marker
        self._node = move.node
        self._starts = [before[source] for source in move.sources]
        self._release(self._starts[0] if self._starts else self._end, shown)
        return None

    def _release(self, end: int, shown: list[str]) -> None:
        """Symbols before a place are no part of a marker."""
        while self._first < end:
            shown.append(self._held.popleft())
            self._first += 1


def _advance(items: tuple[Item, ...], at: int, symbol: str) -> list[int]:
    """Places in a pattern after one symbol more."""
    item = items[at]
    if isinstance(item, str):
        return [at + 1] if item == symbol else []
    stays = [at] if symbol in item else []
    return stays + _advance(items, at + 1, symbol)
