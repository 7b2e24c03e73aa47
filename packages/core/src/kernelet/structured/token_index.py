"""Which tokens of a vocabulary are, begin with or hold given bytes: what masks of free text and markers are made of."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kernelet.contracts.structured import TokenVocabulary

_KEPT: Final = 256
"""Texts of which is known which tokens hold them."""


class TokenIndex:
    """One vocabulary, looked through once. Safe to use from several threads.

    Attributes:
        token_bytes: By id; empty: no text.
        stop_token_ids: Ids that end a text; never part of a mask.
        silent: Ids without text, other than those that end one.
    """

    def __init__(self, vocabulary: TokenVocabulary) -> None:
        self.token_bytes = vocabulary.token_bytes
        self.num_words = vocabulary.num_words
        self.stop_token_ids = frozenset(vocabulary.stop_token_ids)
        ids = [index for index, token in enumerate(self.token_bytes) if token]
        ids.sort(key=self.token_bytes.__getitem__)
        self._sorted = [self.token_bytes[index] for index in ids]
        self._ids = np.array(ids, dtype=np.int64)
        self._joined = b"".join(self._sorted)
        self._ends = list(accumulate(map(len, self._sorted)))
        self._longest = max(map(len, self._sorted), default=0)
        self.silent = [
            index for index, token in enumerate(self.token_bytes) if not token and index not in self.stop_token_ids
        ]
        self._holding = lru_cache(_KEPT)(self._find)
        self._of_characters = lru_cache(_KEPT)(self._count)

    def exactly(self, text: bytes) -> NDArray[np.int64]:
        """Tokens whose text it is."""
        return self._ids[bisect_left(self._sorted, text) : bisect_right(self._sorted, text)]

    def within(self, text: bytes) -> Iterator[NDArray[np.int64]]:
        """Tokens that the text begins with."""
        for length in range(1, min(len(text), self._longest) + 1):
            yield self.exactly(text[:length])

    def beyond(self, text: bytes) -> NDArray[np.int64]:
        """Tokens that begin with the text, and go on."""
        last = text + b"\xff" * (self._longest + 1)
        return self._ids[bisect_right(self._sorted, text) : bisect_right(self._sorted, last)]

    def holding(self, text: bytes) -> NDArray[np.int64]:
        """Tokens that hold the text, and something behind it."""
        return self._holding(text)[0]

    def ending(self, text: bytes) -> NDArray[np.int64]:
        """Tokens that end with the text."""
        return self._holding(text)[1]

    def _find(self, text: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        holding: set[int] = set()
        ending: set[int] = set()
        at = self._joined.find(text)
        while at >= 0:
            place = bisect_right(self._ends, at)
            end = at + len(text)
            if end <= self._ends[place]:  # else it is no token's, but of two
                (ending if end == self._ends[place] else holding).add(place)
            at = self._joined.find(text, at + 1)
        return self._ids[sorted(holding)], self._ids[sorted(ending)]

    def of_characters(self, characters: str) -> Mapping[int, int]:
        """Tokens that hold nothing but these ASCII characters, and how many."""
        return self._of_characters(characters)

    def _count(self, characters: str) -> Mapping[int, int]:
        wanted = characters.encode()
        found = {}
        for first in wanted:
            begin, end = (bisect_left(self._sorted, bytes([one])) for one in (first, first + 1))
            for place in range(begin, end):
                if not self._sorted[place].strip(wanted):
                    found[int(self._ids[place])] = len(self._sorted[place])
        return found

    def everything(self) -> NDArray[np.bool_]:
        """A mask of all tokens but those that end a text, a byte a token."""
        allowed = np.zeros(self.num_words * 32, np.bool_)
        allowed[: len(self.token_bytes)] = True
        allowed[list(self.stop_token_ids)] = False
        return allowed

    def nothing(self) -> NDArray[np.bool_]:
        """A mask of no token."""
        return np.zeros(self.num_words * 32, np.bool_)


def packed(allowed: NDArray[np.bool_]) -> NDArray[np.int32]:
    """A mask of a byte a token as words, lowest bit first."""
    return np.packbits(allowed, bitorder="little").view("<i4").astype(np.int32, copy=False)
