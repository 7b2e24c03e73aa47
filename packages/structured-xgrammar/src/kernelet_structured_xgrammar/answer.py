"""Where one answer stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kernelet.contracts.structured import Grammar

if TYPE_CHECKING:
    import xgrammar


class XGrammarAnswer(Grammar):
    """A matcher of the library, which never sees a stop token."""

    def __init__(
        self, matcher: xgrammar.GrammarMatcher, allowed: NDArray[np.int32], token_bytes: Sequence[bytes]
    ) -> None:
        self._matcher = matcher
        self._allowed = allowed
        self._token_bytes = token_bytes

    def accept(self, token_ids: Sequence[int]) -> bool:
        accepted = self._advance(token_ids)
        if accepted == len(token_ids):
            return True
        self.rollback(accepted)
        return False

    def validate(self, token_ids: Sequence[int]) -> int:
        accepted = self._advance(token_ids)
        self.rollback(accepted)
        return accepted

    def rollback(self, num_tokens: int) -> None:
        if num_tokens:
            self._matcher.rollback(num_tokens)

    def fork(self) -> Grammar:
        return XGrammarAnswer(self._matcher.fork(), self._allowed, self._token_bytes)

    def fill_mask(self, row: NDArray[np.int32]) -> None:
        self._matcher.fill_next_token_bitmask(row)
        np.bitwise_and(row, self._allowed, out=row)

    def can_end(self) -> bool:
        return bool(self._matcher.is_completed())

    def must_end(self) -> bool:
        row = np.empty_like(self._allowed)
        self.fill_mask(row)
        return not row.any()

    def forced(self) -> bytes:
        if self.can_end():
            return b""
        return bytes(self._matcher.find_jump_forward_string(), "utf-8")

    def _advance(self, token_ids: Sequence[int]) -> int:
        """Takes tokens one after the other, until one does not fit; returns how many it took."""
        for count, token_id in enumerate(token_ids):
            fits = 0 <= token_id < len(self._token_bytes) and self._token_bytes[token_id]
            if not (fits and self._matcher.accept_token(token_id)):
                return count
        return len(token_ids)
