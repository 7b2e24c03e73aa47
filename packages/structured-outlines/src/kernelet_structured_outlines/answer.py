"""Where one answer stands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from outlines_core import Guide, Index

from kernelet.contracts.structured import MAX_ROLLBACK, Grammar
from kernelet_structured_outlines.written import WrittenTexts


class OutlinesAnswer(Grammar):
    """A guide of the library, and the tokens that it has been given.

    Args:
        index: Of the grammar.
        written: Texts that must come.
        num_tokens: Of the vocabulary; what follows is the engine's own, and the first of it begins every text.
        num_ids: Those and these.
        tokens: Accepted so far.
    """

    def __init__(
        self, index: Index, written: WrittenTexts, num_tokens: int, num_ids: int, tokens: Sequence[int] = ()
    ) -> None:
        self._index = index
        self._written = written
        self._num_tokens = num_tokens
        self._num_ids = num_ids
        self._tokens: list[int] = []
        self._guide = Guide(index, max_rollback=MAX_ROLLBACK)
        self._row = np.zeros(-(-num_ids // 32), np.int32)
        self._address = self._row.ctypes.data
        self._guide.advance(num_tokens, return_tokens=False)
        self._advance(tokens)

    def accept(self, token_ids: Sequence[int]) -> bool:
        if self.validate(token_ids) < len(token_ids):
            return False
        self._advance(token_ids)
        return True

    def validate(self, token_ids: Sequence[int]) -> int:
        state = self._guide.get_state()
        for count, token_id in enumerate(token_ids):
            fits = 0 <= token_id < self._num_tokens
            state = self._index.get_next_state(state, token_id) if fits else None
            if state is None:
                return count
        return len(token_ids)

    def rollback(self, num_tokens: int) -> None:
        if not 0 <= num_tokens <= min(MAX_ROLLBACK, len(self._tokens)):
            raise ValueError(f"{num_tokens} tokens cannot be taken back: {len(self._tokens)} were accepted")
        if num_tokens:
            self._guide.rollback_state(num_tokens)
            del self._tokens[-num_tokens:]

    def fork(self) -> Grammar:
        return OutlinesAnswer(self._index, self._written, self._num_tokens, self._num_ids, self._tokens)

    def fill_mask(self, row: NDArray[np.int32]) -> None:
        self._fill()
        row[:] = self._row[: len(row)]

    def can_end(self) -> bool:
        return bool(self._guide.is_finished())

    def must_end(self) -> bool:
        self._fill()
        return not self._row.any()

    def forced(self) -> bytes:
        return self._written.after(self._guide.get_state())

    def _fill(self) -> None:
        """Writes the own row, which has room for all ids, and clears those behind the vocabulary."""
        self._guide.write_mask_into(self._address, len(self._row), self._row.itemsize)
        word, bit = divmod(self._num_tokens, 32)
        self._row[word] &= (1 << bit) - 1
        self._row[word + 1 :] = 0

    def _advance(self, token_ids: Sequence[int]) -> None:
        for token_id in token_ids:
            self._guide.advance(token_id, return_tokens=False)
        self._tokens += token_ids
