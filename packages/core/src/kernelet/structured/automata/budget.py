"""Work on regular languages is bounded: what would take long is refused before it does."""

from __future__ import annotations

from typing import Final

from kernelet.structured.refusal import Refusal, UnenforcedError

WORK: Final = 1_200_000
"""Elementary steps that one question may take: about a second."""
MAX_NFA_STATES: Final = 100_000
MAX_DFA_STATES: Final = 20_000
MAX_SIZE: Final = 300_000
"""Operators and characters of one expression."""
MAX_DEPTH: Final = 100
"""How deep operators may be nested; far below what recursive functions can take."""


class TooLargeError(UnenforcedError):
    """A regular language is too large to work with: the constraint is refused, whatever it means."""

    def __init__(self, reason: str) -> None:
        super().__init__([Refusal("regex", reason)])


class Budget:
    """What is left of the work that one question may take."""

    def __init__(self, work: int = WORK) -> None:
        self._left = work

    def spend(self, work: int) -> None:
        """Raises ``TooLargeError`` where there is not so much left."""
        self._left -= work
        if self._left < 0:
            raise TooLargeError(
                "the regular expressions need too many states together: use smaller repeats and lengths, or fewer "
                "conditions on one text"
            )
