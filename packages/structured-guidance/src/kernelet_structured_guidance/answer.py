"""Where one answer stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kernelet.contracts.structured import Grammar

if TYPE_CHECKING:
    from llguidance import LLMatcher


class GuidanceAnswer(Grammar):
    """A matcher of the library, which never sees a stop token."""

    def __init__(self, matcher: LLMatcher, allowed: NDArray[np.int32], token_bytes: Sequence[bytes]) -> None:
        self._matcher = matcher
        self._allowed = allowed
        self._token_bytes = token_bytes
        self._words = -(-(len(token_bytes) + 1) // 32)

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
        if num_tokens and not self._matcher.rollback(num_tokens):
            self._fail()

    def fork(self) -> Grammar:
        return GuidanceAnswer(self._matcher.deep_copy(), self._allowed, self._token_bytes)

    def fill_mask(self, row: NDArray[np.int32]) -> None:
        # the library's row holds its own stop token too, for which there may be no room
        mask = row if len(row) == self._words else np.empty(self._words, np.int32)
        self._matcher.unsafe_compute_mask_ptr(mask.ctypes.data, mask.nbytes)
        if self._matcher.is_error():
            self._fail()
        np.bitwise_and(mask[: len(row)], self._allowed, out=row)

    def can_end(self) -> bool:
        return self._matcher.is_accepting()

    def must_end(self) -> bool:
        row = np.empty_like(self._allowed)
        self.fill_mask(row)
        return not row.any()

    def forced(self) -> bytes:
        return b"" if self.can_end() else self._matcher.compute_ff_bytes()

    def _advance(self, token_ids: Sequence[int]) -> int:
        """Takes tokens one after the other, until one does not fit; returns how many it took."""
        fitting = list(token_ids)
        for count, token_id in enumerate(token_ids):
            if not (0 <= token_id < len(self._token_bytes) and self._token_bytes[token_id]):
                del fitting[count:]
                break
        accepted = self._matcher.try_consume_tokens(fitting)
        if self._matcher.is_error():
            self._fail()
        return accepted

    def _fail(self) -> None:
        raise RuntimeError(f"llguidance: {self._matcher.get_error().splitlines()[0]}")
