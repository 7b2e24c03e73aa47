"""What reads the text of one state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """What a scanner did with a piece of text.

    Attributes:
        used: Characters it took: all of them, unless the state ended.
        to: State that follows; None: this one goes on.
        again: Text that the next state begins with, before what was not used.
        fresh: Exits of the next state count at its start.
        after: Characters that are dropped where they follow directly.
    """

    used: int
    to: str | None = None
    again: str = ""
    fresh: bool = True
    after: str = ""


class Scanner(ABC):
    """Reads one stay in a state. Takes each character once; what it holds back is its own."""

    @abstractmethod
    def feed(self, text: str) -> Step:
        """Takes text, at least one character, up to where the state ends."""

    def token(self, marker: str) -> Step:
        """Takes a marker that is one token of the vocabulary: here text like any other."""
        return self.feed(marker)

    @abstractmethod
    def finish(self) -> None:
        """The text has ended in this state."""
