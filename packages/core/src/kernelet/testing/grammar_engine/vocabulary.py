"""Vocabularies without a tokenizer."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from kernelet.contracts.structured import TokenVocabulary

_TEXTS = (
    *("  ", "    ", "\n", "\n\n", "\n  ", "[]", "{}", "}}", "]]", "},"),
    *('{"', '"}', '":', '": ', '","', '", "', '"]', '["'),
    *("true", "false", "null", "tru", "al", "0", "10", "00", "12", ".5", "-1", "e+"),
    *("aa", "ab", "abc", "a", "ba", " a", "the", " the", "name"),
)
_PARTS = (b"\xc3\xa4", b"\xe2\x82\xac", b"\xe2\x82", b"\x82\xac", b"\xac!", b"\xf0\x9f", b"\x98\x80", b"\xc3\xa4\xc3")
"""Characters of more than one byte, and parts of them."""


def make_vocabulary(token_bytes: Sequence[bytes], stop_token_ids: Sequence[int] = ()) -> TokenVocabulary:
    """A vocabulary of these tokens."""
    content = repr((list(token_bytes), list(stop_token_ids))).encode()
    return TokenVocabulary(
        token_bytes=tuple(token_bytes),
        stop_token_ids=tuple(stop_token_ids),
        digest=hashlib.sha256(content).hexdigest(),
    )


def byte_vocabulary() -> TokenVocabulary:
    """About 300 tokens: every byte (token i is byte i), longer texts, parts of characters, and texts that occur twice.

    The last two are no text: one that ends answers, and a special one.
    """
    tokens = [*(bytes([byte]) for byte in range(256)), *(text.encode() for text in _TEXTS), *_PARTS]
    return make_vocabulary([*tokens, b"", b""], [len(tokens)])


def small_vocabulary() -> TokenVocabulary:
    """64 tokens, two full words, in no order; most bytes are missing, so that some texts cannot go on."""
    singles = [bytes([byte]) for byte in b'abc01()"{ \n\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xbf\xc4']
    longer = [text.encode() for text in _TEXTS if text[0] in "ab0t\n{ "]
    tokens = [*_PARTS, *longer, b"", b"", *singles]
    tokens += [singles[0] * length for length in range(2, 66 - len(tokens))]
    order = sorted(tokens, key=lambda token: hashlib.sha256(token).digest())
    return make_vocabulary(order, [order.index(b"")])
