"""Finds the first marker in a text that comes in pieces, and holds back what may still become one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelet.contracts.parsing import WHITESPACE

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


class Patterns:
    """The exits of one state; shared by all texts.

    Args:
        exits: Whose markers are looked for.
        is_token: Whether a text is one token of the vocabulary.

    Raises:
        ValueError: A marker is empty, or begins another one.
    """

    def __init__(self, exits: Iterable[Exit], is_token: Callable[[str], bool]) -> None:
        self.all = tuple(_pattern(exit_, is_token) for exit_ in exits)
        self.first = _characters(self.all)
        self.later = _characters(pattern for pattern in self.all if not pattern.anchored)
        self.tokens = frozenset(item for pattern in self.all for item in pattern.items if _is_token_item(item))
        _check_prefixes([pattern.exit for pattern in self.all])


def _characters(patterns: Iterable[Pattern]) -> re.Pattern[str] | None:
    """Finds where one of the patterns may begin."""
    symbols = {symbol for pattern in patterns for symbol in _first_symbols(pattern.items)}
    characters = "".join(re.escape(symbol) for symbol in sorted(symbols) if len(symbol) == 1)
    return re.compile(f"[{characters}]") if characters else None


def _is_token_item(item: Item) -> bool:
    return isinstance(item, str) and len(item) > 1


def _pattern(exit_: Exit, is_token: Callable[[str], bool]) -> Pattern:
    if not exit_.parts or not all(exit_.parts):
        raise ValueError(f"an exit to {exit_.to!r} has an empty marker")
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


def _check_prefixes(exits: list[Exit]) -> None:
    for one in exits:
        for other in exits:
            if one is not other and one.parts == other.parts[: len(one.parts)]:
                raise ValueError(f"the marker {one.parts} begins {other.parts}: it would always come first")
            same_head = one.parts[:-1] == other.parts[: len(one.parts) - 1] and len(one.parts) <= len(other.parts)
            if one is not other and same_head and other.parts[len(one.parts) - 1].startswith(one.parts[-1]):
                raise ValueError(f"the marker {one.parts} begins {other.parts}: it would always come first")


class Matcher:
    """One text. Every character is looked at once.

    Args:
        patterns: What to look for.
        fresh: The text begins here; else exits that count at the start do not.
    """

    def __init__(self, patterns: Patterns, *, fresh: bool = True) -> None:
        self._patterns = patterns
        self._held = ""
        self._threads: dict[tuple[int, int], int] = {}
        self._fresh = fresh

    def feed(self, text: str) -> Found:
        """Looks at text up to the end of the first marker."""
        shown: list[str] = []
        place = 0
        while place < len(text):
            if not self._threads:
                next_start = self._next_start(text, place)
                if next_start > place:
                    self._fresh = False
                    shown.append(text[place:next_start])
                    place = next_start
                    continue
            found, released = self._step(text[place], text[place])
            place += 1
            shown.append(released)
            if found is not None:
                exit_, marker = found
                return Found("".join(shown), place, exit_, marker)
        return Found("".join(shown), len(text))

    def token(self, marker: str) -> Found | None:
        """Takes a marker that is one token; None if none of the exits has it: nothing was taken then."""
        if marker not in self._patterns.tokens:
            return None
        found, released = self._step(marker, marker)
        if found is None:
            return Found(released, len(marker))
        return Found(released, len(marker), *found)

    def flush(self) -> str:
        """No marker comes any more: what was held back."""
        text, self._held = self._held, ""
        self._threads.clear()
        self._fresh = False
        return text

    def _next_start(self, text: str, place: int) -> int:
        first = self._patterns.first if self._fresh else self._patterns.later
        found = first.search(text, place) if first is not None else None
        return found.start() if found is not None else len(text)

    def _step(self, symbol: str, text: str) -> tuple[tuple[Exit, str] | None, str]:
        """One symbol more; returns the marker that ended, and the text that is none."""
        threads = dict(self._threads)
        for number, pattern in enumerate(self._patterns.all):
            if not pattern.anchored or self._fresh:
                threads.setdefault((number, 0), len(self._held))
        alive: dict[tuple[int, int], int] = {}
        done: tuple[int, int] | None = None
        for (number, at), start in threads.items():
            items = self._patterns.all[number].items
            for after in _advance(items, at, symbol):
                if after == len(items):
                    done = min(done or (start, number), (start, number))
                else:
                    alive[number, after] = min(start, alive.get((number, after), start))
        self._held += text
        self._fresh = self._fresh and symbol in WHITESPACE
        if done is not None:
            start, number = done
            released, marker = self._held[:start], self._held[start:]
            self._threads, self._held = {}, ""
            return (self._patterns.all[number].exit, marker), released
        earliest = min(alive.values(), default=len(self._held))
        released, self._held = self._held[:earliest], self._held[earliest:]
        self._threads = {key: start - earliest for key, start in alive.items()}
        return None, released


def _advance(items: tuple[Item, ...], at: int, symbol: str) -> list[int]:
    """Places in a pattern after one symbol more."""
    item = items[at]
    if isinstance(item, str):
        return [at + 1] if item == symbol else []
    stays = [at] if symbol in item else []
    return stays + _advance(items, at + 1, symbol)
