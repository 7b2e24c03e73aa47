"""Turns tokens into text one by one: what `IncrementalDetokenizer` is built on.

`ByteStream` is exact and constant time a token. `WindowStream` serves decoders that have no reading in bytes.
"""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from kernelet.text.decoding import strip_left
from kernelet.text.tokenizer import REPLACEMENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelet.text.decoding import ByteDecoding
    from kernelet.text.tokenizer import Tokenizer

MAX_CHARACTER_BYTES: Final = 4
CONTEXT_TOKENS: Final = 5


class TokenStream(ABC):
    """Text of a growing token sequence, of which skipped tokens are no part."""

    @abstractmethod
    def feed(self, index: int) -> str:
        """Add a token; returns the text that is now certain."""

    @abstractmethod
    def flush(self) -> str:
        """Returns what is left, an unfinished character as one U+FFFD. The next token starts a new character."""

    @property
    @abstractmethod
    def holds(self) -> bool:
        """Whether `flush` would return anything."""


class ByteStream(TokenStream):
    """Pushes the bytes of each token through an incremental UTF-8 decoder; holds at most 3 bytes.

    The texts returned by `feed` and `flush` add up to `Tokenizer.decode` of the sequence. After a prompt that ends
    inside a character, the first text is that whole character, or nothing of it if it is not continued.

    Args:
        prompt_ids: Visible tokens that stand before; their text is not returned.
    """

    def __init__(self, tokenizer: Tokenizer, decoding: ByteDecoding, prompt_ids: Sequence[int] = ()) -> None:
        self._tokenizer = tokenizer
        self._decoding = decoding
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._first = not prompt_ids
        self._left_to_strip = 0 if prompt_ids else decoding.strip_count
        self._prompt_tail = _unfinished_character([tokenizer.token_bytes(index) for index in prompt_ids])

    @property
    def holds(self) -> bool:
        return bool(self._decoder.getstate()[0])

    def feed(self, index: int) -> str:
        piece = self._tokenizer.token_bytes(index, first=self._first)
        if not piece:
            # Unknown ids are no part of the text; a first token that is all space marks still counts as one.
            self._first = self._first and self._tokenizer.id_to_token(index) is None
            return ""
        self._first = False
        if self._prompt_tail:
            piece = self._continue_prompt(piece)
        return self._finish(self._decoder.decode(piece))

    def flush(self) -> str:
        self._prompt_tail = b""
        text = self._decoder.decode(b"", final=True)
        return self._finish(text)

    def _continue_prompt(self, piece: bytes) -> bytes:
        """Put the prompt's unfinished character before `piece` if the two fit together."""
        tail, self._prompt_tail = self._prompt_tail, b""
        probe = codecs.getincrementaldecoder("utf-8")("replace")
        fed = tail
        probe.decode(tail)
        for byte in piece:
            fed += bytes([byte])
            if probe.decode(bytes([byte])):
                return tail + piece if _is_utf8(fed) else piece
        return tail + piece

    def _finish(self, text: str) -> str:
        text = self._decoding.replace_in_text(text)
        if not self._left_to_strip:
            return text
        shorter = strip_left(text, self._decoding.strip, self._left_to_strip)
        self._left_to_strip = 0 if shorter else self._left_to_strip - len(text)
        return shorter


class WindowStream(TokenStream):
    """Decodes a short window with the library and returns what the newest tokens add to it.

    The library decides the text, so it is right wherever a token's text depends on few tokens before it. A text that
    ends in U+FFFD is held until the character is complete, or for as many tokens as a character can have bytes.
    """

    def __init__(self, tokenizer: Tokenizer, prompt_ids: Sequence[int] = ()) -> None:
        self._tokenizer = tokenizer
        self._window = list(prompt_ids[-CONTEXT_TOKENS:])
        self._shown = len(self._window)

    @property
    def holds(self) -> bool:
        return len(self._window) > self._shown

    def feed(self, index: int) -> str:
        if self._tokenizer.id_to_token(index) is None:
            return ""
        self._window.append(index)
        text = self._tokenizer.decode_with_library(self._window)
        if text.endswith(REPLACEMENT) and len(self._window) - self._shown < MAX_CHARACTER_BYTES:
            return ""
        return self._show(text)

    def flush(self) -> str:
        return self._show(self._tokenizer.decode_with_library(self._window)) if self.holds else ""

    def _show(self, text: str) -> str:
        before = self._tokenizer.decode_with_library(self._window[: self._shown])
        # One context of whole tokens is enough; it only grows while a character is held.
        self._window = self._window[-max(CONTEXT_TOKENS, len(self._window) - self._shown) :]
        self._shown = len(self._window)
        same = 0
        while same < min(len(before), len(text)) and before[same] == text[same]:
            same += 1
        return text[same:]


def _is_utf8(piece: bytes) -> bool:
    try:
        piece.decode("utf-8", "strict")
    except UnicodeDecodeError:
        return False
    return True


def _unfinished_character(pieces: Sequence[bytes]) -> bytes:
    """The bytes at the end that start a character and do not finish it; at most 3."""
    tail = b""
    for piece in reversed(pieces):
        tail = piece + tail
        if len(tail) >= MAX_CHARACTER_BYTES:
            break
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(tail)
    return decoder.getstate()[0]
