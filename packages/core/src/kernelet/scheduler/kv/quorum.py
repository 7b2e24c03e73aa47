"""When all ranks have told of a transfer."""

from __future__ import annotations


class Quorum:
    """What ranks say, each once: what a rank says again is dropped."""

    def __init__(self, num_ranks: int) -> None:
        self._num_ranks = num_ranks
        self._said: dict[int, int] = {}

    def tell(self, rank: int, value: int = 0) -> bool:
        """A rank says a number; True: it was the last that was missing."""
        if rank in self._said:
            return False
        self._said[rank] = value
        return len(self._said) == self._num_ranks

    @property
    def least(self) -> int:
        """The smallest number that was said.

        Raises:
            ValueError: nobody has said one.
        """
        return min(self._said.values())
