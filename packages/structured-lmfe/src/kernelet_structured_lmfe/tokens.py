"""A vocabulary in lm-format-enforcer's form."""

from __future__ import annotations

from typing import Final

import numpy as np
from lmformatenforcer import TokenEnforcer, TokenEnforcerTokenizerData
from numpy.typing import NDArray

from kernelet.contracts.structured import TokenVocabulary
from kernelet_structured_lmfe.place import Place

LONGEST: Final = 200
"""Bytes of a token that the library looks at, in as many calls inside each other; longer ones are tried one by one."""


class Tokens:
    """To the library a byte is a character, the one of the same number: parts of characters are texts like any other.

    Attributes:
        texts: By id; tokens without bytes are left out.
    """

    def __init__(self, vocabulary: TokenVocabulary) -> None:
        tokens = vocabulary.token_bytes
        self.texts = {token_id: token.decode("latin-1") for token_id, token in enumerate(tokens) if token}
        self.num_words = vocabulary.num_words
        self._long = {token_id: text for token_id, text in self.texts.items() if len(text) > LONGEST}
        self._data = TokenEnforcerTokenizerData(
            [(token_id, text, True) for token_id, text in self.texts.items() if len(text) <= LONGEST],
            lambda ids: "".join(self.texts[token_id] for token_id in ids),
            [],  # core decides where an answer may end
            use_bitmask=False,  # it would set bit after bit of a tensor
            vocab_size=len(tokens),
        )

    def row(self, place: Place) -> NDArray[np.int32]:
        """The mask at a place, which keeps it."""
        if place.row is None:
            found = TokenEnforcer(self._data, place).get_allowed_tokens([]).allowed_tokens
            found += [token_id for token_id, text in self._long.items() if place.after(text)]
            bits = np.zeros(32 * self.num_words, np.bool_)
            bits[found] = True
            row = np.packbits(bits, bitorder="little").view("<i4").astype(np.int32)
            place.places.took(row.nbytes)
            place.row = row
            return row
        return place.row
