"""What one step may still take."""

from __future__ import annotations


class TokenBudget:
    """Tokens of a step: prompts and decoding draw on the same."""

    def __init__(self, max_tokens: int) -> None:
        self.left = max_tokens

    def offer(self, wanted: int) -> int:
        """How many of the wanted tokens fit."""
        return min(wanted, self.left)

    def take(self, count: int) -> None:
        """Uses up tokens.

        Raises:
            ValueError: so many are not left.
        """
        if not 0 < count <= self.left:
            raise ValueError(f"{count} tokens asked of {self.left}")
        self.left -= count
