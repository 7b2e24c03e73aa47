"""How often each token appeared in a request, kept up to date one token at a time."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor


class TokenCounts:
    """Distinct tokens in order of appearance, with the number of times each was generated.

    Args:
        prompt: Tokens that count as seen, zero times generated.
        generated: Tokens generated so far.
    """

    def __init__(self, prompt: Iterable[int], generated: Iterable[int]) -> None:
        self._index: dict[int, int] = {}
        self._ids = np.zeros(64, dtype=np.int64)
        self._counts = np.zeros(64, dtype=np.float64)
        for token in prompt:
            self._slot(token)
        for token in generated:
            self.add(token)

    def add(self, token: int) -> None:
        """One more generated token."""
        slot = self._slot(token)  # may replace the arrays
        self._counts[slot] += 1

    def tensors(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """int64 ids and their counts in the dtype and on the device of ``like``."""
        size = len(self._index)
        ids = torch.from_numpy(self._ids[:size]).to(like.device)
        return ids, torch.from_numpy(self._counts[:size]).to(like.device, like.dtype)

    def _slot(self, token: int) -> int:
        slot = self._index.setdefault(token, len(self._index))
        if slot == len(self._ids):
            self._ids = np.concatenate([self._ids, np.zeros_like(self._ids)])
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        self._ids[slot] = token
        return slot
