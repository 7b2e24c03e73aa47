"""Stop strings over streamed text."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class StopStrings:
    """The automaton of a set of stop strings (Aho and Corasick, 1975). Shared by the choices of a request.

    Building costs as much as the strings are long, searching as much as the text is long, however many there are.

    Args:
        strings: Not empty ones; one that occurs twice counts once.
    """

    def __init__(self, strings: Sequence[str]) -> None:
        if not all(strings):
            raise ValueError("a stop string is empty: leave it out")
        self.strings = tuple(strings)
        self.first_characters = frozenset(string[0] for string in strings)
        self._next: list[dict[str, int]] = [{}]
        self._depth = [0]
        # The longest stop string that a state's text ends with.
        self._found: list[str | None] = [None]
        for string in strings:
            self._insert(string)
        self._fallback = self._link()

    def _insert(self, string: str) -> None:
        state = 0
        for character in string:
            if character not in self._next[state]:
                self._next[state][character] = len(self._next)
                self._next.append({})
                self._depth.append(self._depth[state] + 1)
                self._found.append(None)
            state = self._next[state][character]
        self._found[state] = string

    def _link(self) -> list[int]:
        """The state of each state's longest proper suffix that begins a stop string."""
        fallback = [0] * len(self._next)
        queue = deque(self._next[0].values())
        while queue:
            state = queue.popleft()
            if self._found[state] is None:
                self._found[state] = self._found[fallback[state]]
            for character, child in self._next[state].items():
                suffix = fallback[state]
                while suffix and character not in self._next[suffix]:
                    suffix = fallback[suffix]
                fallback[child] = self._next[suffix].get(character, 0)
                queue.append(child)
        return fallback

    def step(self, state: int, character: str) -> int:
        """The state after one more character; 0 is the start."""
        while state and character not in self._next[state]:
            state = self._fallback[state]
        return self._next[state].get(character, 0)

    def found(self, state: int) -> str | None:
        """The longest stop string that ends here."""
        return self._found[state]

    def depth(self, state: int) -> int:
        """How many of the last characters may still become a stop string."""
        return self._depth[state]


@dataclass(frozen=True, slots=True)
class StopDelta:
    """What a piece of text gives.

    Attributes:
        text: What may be shown now.
        stop: The stop string that ended the text; nothing follows then.
    """

    text: str
    stop: str | None = None


class StopChecker:
    """Looks for stop strings in a text that comes in pieces; one a choice.

    The stop string that is complete first wins, of several that end at one character the longest. The result does
    not depend on how the text was cut. Held back is the longest end of the text that a stop string begins with.

    Args:
        stops: What to look for.
        include_in_output: The text ends with the stop string instead of before it.
    """

    def __init__(self, stops: StopStrings, *, include_in_output: bool = False) -> None:
        self._stops = stops
        self._include = include_in_output
        self._state = 0
        self._held = ""
        self._stopped = False

    def push(self, text: str, *, may_stop: bool = True) -> StopDelta:
        """Add a piece of text.

        Args:
            text: Of any length.
            may_stop: False: a stop string that ends in this piece is plain text (``min_tokens``).

        Raises:
            ValueError: The text has ended.
        """
        if self._stopped:
            raise ValueError("the text has ended with a stop string; nothing may follow")
        if not self._state and self._stops.first_characters.isdisjoint(text):
            return StopDelta(text)
        state = self._state
        for place, character in enumerate(text, 1):
            state = self._stops.step(state, character)
            if may_stop and (stop := self._stops.found(state)) is not None:
                return self._stop(self._held + text[:place], stop)
        whole = self._held + text
        shown = len(whole) - self._stops.depth(state)
        self._state, self._held = state, whole[shown:]
        return StopDelta(whole[:shown])

    def flush(self) -> str:
        """The end came without a stop string: what was held back."""
        text, self._held, self._state = self._held, "", 0
        return text

    def _stop(self, text: str, stop: str) -> StopDelta:
        self._stopped, self._held, self._state = True, "", 0
        return StopDelta(text if self._include else text[: len(text) - len(stop)], stop)
