"""Where one answer stands."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kernelet.contracts.structured import MAX_ROLLBACK, Grammar
from kernelet_structured_lmfe.place import Place
from kernelet_structured_lmfe.tokens import Tokens

MOST_FORCED: Final = 256
"""Bytes that ``forced`` looks ahead."""


class LmfeAnswer(Grammar):
    """The places of its last tokens, as many as can be taken back."""

    def __init__(self, tokens: Tokens, places: Iterable[Place]) -> None:
        self._tokens = tokens
        self._places = deque(places, maxlen=MAX_ROLLBACK + 1)

    def accept(self, token_ids: Sequence[int]) -> bool:
        places = self._follow(token_ids)
        if len(places) < len(token_ids):
            return False
        self._places += places
        return True

    def validate(self, token_ids: Sequence[int]) -> int:
        return len(self._follow(token_ids))

    def rollback(self, num_tokens: int) -> None:
        if not 0 <= num_tokens < len(self._places):
            raise ValueError(f"{num_tokens} tokens cannot be taken back: at most {len(self._places) - 1}")
        for _ in range(num_tokens):
            self._places.pop()

    def fork(self) -> Grammar:
        return LmfeAnswer(self._tokens, self._places)

    def fill_mask(self, row: NDArray[np.int32]) -> None:
        row[:] = self._tokens.row(self._place)

    def can_end(self) -> bool:
        return self._place.can_end()

    def must_end(self) -> bool:
        return not (self._place.get_allowed_characters() and self._tokens.row(self._place).any())

    def forced(self) -> bytes:
        place, found = self._place, ""
        while len(found) < MOST_FORCED and len(follow := place.get_allowed_characters()) == 1 and not place.can_end():
            (byte,) = follow
            found += byte
            place = place.add_character(byte)
        return found.encode("latin-1")

    @property
    def _place(self) -> Place:
        return self._places[-1]

    def _follow(self, token_ids: Sequence[int]) -> list[Place]:
        """The places after each token, as far as tokens fit."""
        found: list[Place] = []
        place: Place | None = self._place
        for token_id in token_ids:
            text = self._tokens.texts.get(token_id)
            place = place.after(text) if place and text else None
            if place is None:
                break
            found.append(place)
        return found
