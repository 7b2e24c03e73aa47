"""What grammar engines need to know of a tokenizer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from kernelet.contracts.structured import TokenVocabulary
from kernelet.errors import ParameterError
from kernelet.text.tokenizer import Tokenizer

PAIRS: Final = 256


def token_vocabulary(tokenizer: Tokenizer, vocab_size: int) -> TokenVocabulary:
    """The bytes of every token. Takes about as long as it took to read the tokenizer: it is made once.

    Args:
        tokenizer: Of the model.
        vocab_size: Columns of the model's logits, of which the tokenizer may know fewer or more.

    Raises:
        ParameterError: tokens have no bytes of their own.
    """
    if tokenizer.decoding is None and not are_joined(tokenizer):
        raise ParameterError(
            "structured_outputs",
            "the text of this model's tokens depends on what stands before them, so that no text can be held to a "
            "form: leave it out",
        )
    stops = tuple(sorted(index for index in tokenizer.eos_token_ids if 0 <= index < vocab_size))
    silent = frozenset(stops)
    return vocabulary_of(
        [
            b"" if index in silent or tokenizer.is_special(index) else tokenizer.token_bytes(index)
            for index in range(vocab_size)
        ],
        stops,
    )


def are_joined(tokenizer: Tokenizer) -> bool:
    """Whether a text is what its tokens are alone, one after the other; looks at pairs from all over the vocabulary."""
    plain = [index for index in range(len(tokenizer)) if not tokenizer.is_special(index)]
    sample = plain[:: max(len(plain) // PAIRS, 1)]
    decode = tokenizer.decode_with_library
    return all(decode([one, other]) == decode([one]) + decode([other]) for one, other in pairwise(sample))


def vocabulary_of(token_bytes: Sequence[bytes], stop_token_ids: Iterable[int]) -> TokenVocabulary:
    """A vocabulary, with its digest."""
    stops = tuple(stop_token_ids)
    digest = hashlib.sha256(repr(stops).encode())
    for token in token_bytes:
        digest.update(len(token).to_bytes(4, "little"))
        digest.update(token)
    return TokenVocabulary(token_bytes=tuple(token_bytes), stop_token_ids=stops, digest=digest.hexdigest())


def byte_vocabulary() -> TokenVocabulary:
    """One token a byte, and one that ends the text: what needs no model."""
    return vocabulary_of([*(bytes([value]) for value in range(256)), b""], (256,))
