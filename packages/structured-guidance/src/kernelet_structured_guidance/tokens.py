"""The vocabulary, as the library wants it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kernelet.contracts.structured import TokenVocabulary

SPECIAL: Final = b"\xff[stop]"
"""The bytes of the token that ends texts: the library takes what begins with 0xFF, which no text has, for special."""


class Tokens:
    """What ``LLTokenizer`` asks of a tokenizer.

    It wants a token that ends texts, which gets an id beyond the vocabulary.
    """

    is_tokenizer_wrapper: Final = True
    bos_token_id: Final = None
    special_token_ids: Final[Sequence[int]] = ()

    def __init__(self, vocabulary: TokenVocabulary) -> None:
        self.tokens: Sequence[bytes] = (*vocabulary.token_bytes, SPECIAL)
        self.eos_token_id = len(vocabulary.token_bytes)

    def __call__(self, text: str) -> list[int]:
        """Cuts a text that a grammar forces; grammars here force none."""
        raise NotImplementedError


def allowed_row(vocabulary: TokenVocabulary) -> NDArray[np.int32]:
    """A mask row of the tokens that have bytes."""
    bits = np.zeros(vocabulary.num_words * 32, np.bool_)
    bits[: len(vocabulary.token_bytes)] = [bool(token) for token in vocabulary.token_bytes]
    return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32)
