"""Requests in the order of a policy."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from kernelet.request.request import Request

Rank = tuple[float, ...]
"""A request's place in a policy's order; no two are equal."""


class RankedRequests:
    """Requests, best (smallest rank) first."""

    def __init__(self) -> None:
        self._entries: list[tuple[Rank, Request]] = []

    def add(self, rank: Rank, request: Request) -> None:
        """Puts a request in its place."""
        insort(self._entries, (rank, request), key=_rank_of)

    def remove(self, rank: Rank, request: Request) -> None:
        """Takes a request out.

        Raises:
            KeyError: it is not there under this rank.
        """
        index = bisect_left(self._entries, rank, key=_rank_of)
        if index == len(self._entries) or self._entries[index][1] is not request:
            raise KeyError(request.request_id)
        del self._entries[index]

    def first(self) -> Request:
        """The best request.

        Raises:
            IndexError: there is none.
        """
        return self._entries[0][1]

    def last(self) -> Request:
        """The worst request.

        Raises:
            IndexError: there is none.
        """
        return self._entries[-1][1]

    def __iter__(self) -> Iterator[Request]:
        """Over a copy: requests may come and go meanwhile."""
        return iter([request for _, request in self._entries])

    def __len__(self) -> int:
        return len(self._entries)


def _rank_of(entry: tuple[Rank, Request]) -> Rank:
    return entry[0]
