"""Words that must not be generated, as token sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelet.text.tokenizer import Tokenizer


def bad_words_token_ids(tokenizer: Tokenizer, words: Iterable[str]) -> tuple[tuple[int, ...], ...]:
    """The sequences whose last token may not follow the others.

    Each word counts as it is written at the start of a text and after a space. The second form is left out where it
    differs by more than its first token, as in vLLM: it then begins with a space token that is no part of the word.

    Raises:
        ParameterError: A word is empty, or has no tokens.
    """
    sequences: list[tuple[int, ...]] = []
    for word in words:
        bare = word.lstrip()
        if not bare:
            raise ParameterError("bad_words", f"{word!r} is empty or only space: leave it out")
        plain = tuple(tokenizer.encode(bare, add_special_tokens=False))
        if not plain:
            raise ParameterError("bad_words", f"the tokenizer has no tokens for {word!r}: leave it out")
        spaced = tuple(tokenizer.encode(f" {bare}", add_special_tokens=False))
        sequences.append(plain)
        if spaced[0] != plain[0] and len(spaced) == len(plain):
            sequences.append(spaced)
    return tuple(sequences)
