"""Text that a constraint leaves no choice about: which token it begins with.

Masks allow every way to cut a text into tokens. Where only one text may follow, the model has nothing to say but how it
is cut, and is given the tokenizer's own way, the one that it was trained on: a run of such tokens needs no sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelet.contracts.structured import Grammar, TokenVocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOOK_AHEAD: Final = 256
"""Bytes of what must follow that are looked at."""

KEPT: Final = 4096
"""Texts whose first token is remembered."""


class ForcedText:
    """Safe to use from several threads.

    Args:
        vocabulary: Gives the tokens, once there are grammars.
        encode: The tokenizer, without special tokens.
    """

    def __init__(self, vocabulary: Callable[[], TokenVocabulary], encode: Callable[[str], Sequence[int]]) -> None:
        self._vocabulary = vocabulary
        self._encode = encode
        self._first = lru_cache(KEPT)(self._find_first)

    def token(self, grammar: Grammar, row: NDArray[np.int32]) -> int | None:
        """The tokenizer's own next token, where all tokens that fit are beginnings of the one text that may follow.

        Args:
            grammar: Where the text stands.
            row: int32 [words], what the grammar takes now.

        Returns:
            A token of the row; None: what follows is open, or a token that fits reaches into what is, or the tokenizer
            cuts the text in a way that the row does not have.
        """
        text = grammar.forced()[:LOOK_AHEAD]
        if not text:
            return None
        token_bytes = self._vocabulary().token_bytes
        fitting = set()
        for token in tokens_of(row):
            if not text.startswith(token_bytes[token]):
                return None
            fitting.add(token)
        first = self._first(text)
        return first if first in fitting else None

    def _find_first(self, text: bytes) -> int | None:
        try:
            letters = text.decode()
        except UnicodeDecodeError as error:
            letters = text[: error.start].decode()
        token_ids = self._encode(letters) if letters else ()
        return token_ids[0] if token_ids else None


def tokens_of(row: NDArray[np.int32]) -> Iterator[int]:
    """The tokens of a mask row, ascending."""
    words = row.view(np.uint32)
    for place in np.flatnonzero(words).tolist():
        word = int(words[place])
        while word:
            lowest = word & -word
            yield place * 32 + lowest.bit_length() - 1
            word ^= lowest


def row_of(token: int, num_words: int) -> NDArray[np.int32]:
    """The mask row of one token."""
    row = np.zeros(num_words, np.int32)
    row.view(np.uint32)[token >> 5] = np.uint32(1 << (token & 31))
    return row
