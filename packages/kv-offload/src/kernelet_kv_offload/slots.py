"""Numbers that are given out and come back."""

from __future__ import annotations


class Slots:
    """1 to ``count``; a number costs memory only once it was given out."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._returned: list[int] = []
        self._given = 0

    def __len__(self) -> int:
        """Those that are left."""
        return self._count - self._given + len(self._returned)

    def take(self) -> int:
        """One of them.

        Raises:
            IndexError: none is left.
        """
        if self._returned:
            return self._returned.pop()
        if self._given == self._count:
            raise IndexError(f"all {self._count} slots are taken")
        self._given += 1
        return self._given

    def give_back(self, slot: int) -> None:
        """One that was taken."""
        self._returned.append(slot)
