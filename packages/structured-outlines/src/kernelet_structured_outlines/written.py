"""Texts that must come: what an index leaves no choice about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from outlines_core import Index

MOST: Final = 256
"""Bytes that are looked ahead."""


class WrittenTexts:
    """Of one index; each state is looked at once. Safe to use from several threads.

    Args:
        index: Of the grammar.
        token_bytes: Of every id that the index knows; empty: none that leads on.
        ids: Of single bytes.
    """

    def __init__(self, index: Index, token_bytes: Sequence[bytes], ids: Mapping[bytes, int]) -> None:
        self._index = index
        self._token_bytes = token_bytes
        self._ids = ids
        self._steps: dict[int, tuple[int, int] | None] = {}

    def after(self, state: int) -> bytes:
        """Bytes that must come in a state, none where the text may end."""
        found = bytearray()
        while len(found) < MOST and (step := self._step(state)) is not None:
            byte, state = step
            found.append(byte)
        return bytes(found)

    def _step(self, state: int) -> tuple[int, int] | None:
        if state not in self._steps:
            self._steps[state] = self._find_step(state)
        return self._steps[state]

    def _find_step(self, state: int) -> tuple[int, int] | None:
        """The byte that every token that fits begins with, and the state behind it; None: they begin differently."""
        if self._index.is_final_state(state):
            return None
        fitting = iter(self._index.get_allowed_tokens(state) or ())
        first = self._token_bytes[next(fitting)][:1]
        if not first or any(self._token_bytes[token_id][:1] != first for token_id in fitting):
            return None
        after = self._index.get_next_state(state, self._ids[first])
        return None if after is None else (first[0], after)
