"""Bias, allowed tokens, bad words, tokens that may not come yet: in this order, after custom processors. Mask rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernelet.contracts.sampling import SamplerParams


class Restrictions:
    """What one request's parameters allow, ready to be applied to its rows.

    Args:
        params: The request's parameters.
        vocab_size: Width of a row.
        device: Where rows live.

    Raises:
        ValueError: if a token id lies outside the vocabulary.
    """

    def __init__(self, params: SamplerParams, vocab_size: int, device: torch.device) -> None:
        self._vocab_size = vocab_size
        self._device = device
        bias = params.logit_bias or {}
        self._bias = (self._ids(bias), torch.tensor(list(bias.values()), dtype=torch.float64, device=device))
        allowed = params.allowed_token_ids
        self._allowed = None if allowed is None else self._ids(allowed)
        words = params.bad_words_token_ids
        self._bad = self._ids([word[0] for word in words if len(word) == 1])
        # by the token before the last: a step looks at the few that may end now, however many there are
        self._bad_sequences: dict[int, list[tuple[int, ...]]] = {}
        for word in words:
            if len(word) > 1:
                self._bad_sequences.setdefault(word[-2], []).append(word)
        self._ids([word[-1] for word in words])
        self._min_tokens = params.min_tokens
        self._suppressed = self._ids(params.suppressed_token_ids)
        self._always = bool(bias or words) or allowed is not None
        self._num_suppressed = len(params.suppressed_token_ids)
        self._others = ~_bits(params.suppressed_token_ids, vocab_size) if self._suppresses(0) else None

    @property
    def ever_active(self) -> bool:
        """Whether a row may be changed at some time (mask rows aside)."""
        return self._always or self._suppresses(0)

    def active(self, num_generated: int) -> bool:
        """Whether a row is changed (mask rows aside)."""
        return self._always or self._suppresses(num_generated)

    def apply(self, row: Tensor, generated: Sequence[int], mask: NDArray[np.int32] | None) -> None:
        """Changes one row [vocab] in place; what may not be chosen becomes -inf.

        A mask that leaves nothing but suppressed tokens wins over ``min_tokens``: a grammar that is done must end.

        Args:
            row: Logits.
            generated: Tokens generated so far.
            mask: The mask row that will be applied after this.
        """
        ids, values = self._bias
        if len(ids):
            row[ids] += values.to(row.dtype)
        if self._allowed is not None:
            kept = row[self._allowed]
            row.fill_(-torch.inf)
            row[self._allowed] = kept
        if len(self._bad):
            row.index_fill_(0, self._bad, -torch.inf)
        if self._bad_sequences and generated:
            for word in self._bad_sequences.get(generated[-1], ()):
                if tuple(generated[1 - len(word) :]) == word[:-1]:
                    row[word[-1]] = -torch.inf
        if self._suppresses(len(generated)) and not self._must_end(mask):
            row[self._suppressed] = -torch.inf

    def _suppresses(self, num_generated: int) -> bool:
        return num_generated < self._min_tokens and self._num_suppressed > 0

    def _must_end(self, mask: NDArray[np.int32] | None) -> bool:
        return mask is not None and self._others is not None and not (mask & self._others).any()

    def _ids(self, ids: Sequence[int] | dict[int, float]) -> Tensor:
        wrong = [token for token in ids if not 0 <= token < self._vocab_size]
        if wrong:
            raise ValueError(f"token ids {wrong[:8]} are outside the vocabulary of {self._vocab_size} tokens")
        return torch.tensor(list(ids), dtype=torch.int64, device=self._device)


def read_mask(row: bytes, vocab_size: int) -> NDArray[np.int32]:
    """A mask row as it came: int32 [words], little endian, without the bits beyond the vocabulary.

    Raises:
        ValueError: if the row has another length.
    """
    words = -(-vocab_size // 32)
    if len(row) != words * 4:
        raise ValueError(
            f"a mask row of {len(row)} bytes does not fit a vocabulary of {vocab_size} ({words * 4} bytes)"
        )
    found = np.frombuffer(row, dtype="<i4").astype(np.int32)
    if vocab_size % 32:
        found[-1] &= (1 << vocab_size % 32) - 1
    return found


def _bits(ids: Sequence[int], vocab_size: int) -> NDArray[np.int32]:
    """A mask row in which these tokens are set."""
    bits = np.zeros(-(-vocab_size // 32) * 32, dtype=np.uint8)
    bits[list(ids)] = 1
    return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32)
