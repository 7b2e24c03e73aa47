"""What the ``decoder`` section of a tokenizer.json means in bytes.

The `tokenizers` library decodes strings. Generated tokens end inside characters, so everything here works on the
bytes that a token stands for (field reports 7.10, 7.11). Two families can be written that way: byte-level BPE, and
sentencepiece with byte fallback. Any other decoder has no reading in bytes: `parse_decoder` then answers None.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BYTE_TOKEN: Final = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _byte_alphabet() -> Mapping[str, int]:
    """The byte of each character that byte-level BPE writes in its vocabulary.

    Printable Latin-1 characters stand for themselves, the other 68 bytes for U+0100 and up, in order (GPT-2, Radford
    et al., 2019).
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    table.update({chr(0x100 + place): byte for place, byte in enumerate(others)})
    return MappingProxyType(table)


BYTE_ALPHABET: Final = _byte_alphabet()


@dataclass(frozen=True, slots=True)
class ByteDecoding:
    """How a token's string becomes bytes, and what is done to the text that the bytes spell.

    Attributes:
        byte_level: Each character of a token is one byte of `BYTE_ALPHABET`.
        byte_fallback: A token ``<0xE2>`` is that byte.
        token_replacements: Pairs (old, new), applied to a token's string first.
        text_replacements: Pairs (old, new), applied to decoded text; old is one character, so no cut can split it.
        strip: Character taken away at the start of a text, at most `strip_count` times.
        strip_count: See `strip`.
        first_token_drops: Character removed wherever the first token of a text has it; empty: none.
    """

    byte_level: bool = False
    byte_fallback: bool = False
    token_replacements: tuple[tuple[str, str], ...] = ()
    text_replacements: tuple[tuple[str, str], ...] = ()
    strip: str = ""
    strip_count: int = 0
    first_token_drops: str = ""

    def token_bytes(self, token: str, *, first: bool = False) -> bytes:
        """The bytes of a token of the vocabulary; `first` when nothing of the text stands before it."""
        if self.byte_level:
            try:
                return bytes([BYTE_ALPHABET[character] for character in token])
            except KeyError:
                return token.encode()
        if first and self.first_token_drops:
            token = token.replace(self.first_token_drops, "")
        for old, new in self.token_replacements:
            token = token.replace(old, new)
        if self.byte_fallback and (found := _BYTE_TOKEN.fullmatch(token)):
            return bytes([int(found[1], 16)])
        return token.encode()

    def replace_in_text(self, text: str) -> str:
        """Apply `text_replacements`."""
        for old, new in self.text_replacements:
            text = text.replace(old, new)
        return text

    def decode(self, pieces: Sequence[bytes]) -> str:
        """The text of a whole sequence; invalid UTF-8 gives U+FFFD as `bytes.decode` does."""
        text = self.replace_in_text(b"".join(pieces).decode("utf-8", "replace"))
        return strip_left(text, self.strip, self.strip_count)


def strip_left(text: str, character: str, count: int) -> str:
    """Take `character` away at the start of `text`, at most `count` times."""
    start = 0
    while start < min(count, len(text)) and text[start] == character:
        start += 1
    return text[start:]


def parse_decoder(section: Mapping[str, Any] | None) -> ByteDecoding | None:
    """Read the ``decoder`` section of a tokenizer.json.

    Returns:
        None if it cannot be expressed in bytes: the caller has to decode with the library.
    """
    if section is None:
        return None
    steps: list[Mapping[str, Any]] = section["decoders"] if section["type"] == "Sequence" else [section]
    kinds = [step["type"] for step in steps]
    if kinds in (["ByteLevel"], ["ByteLevel", "Fuse"]):
        return ByteDecoding(byte_level=True)
    if kinds == ["Metaspace"]:
        return _metaspace(steps[0])
    return _sentencepiece(steps)


def _metaspace(step: Mapping[str, Any]) -> ByteDecoding:
    mark = step["replacement"]
    # Files of old library versions write a bool instead of the scheme.
    prepends = step.get("prepend_scheme", "always" if step.get("add_prefix_space", True) else "never") != "never"
    return ByteDecoding(token_replacements=((mark, " "),), first_token_drops=mark if prepends else "")


def _sentencepiece(steps: list[Mapping[str, Any]]) -> ByteDecoding | None:
    """Replace, ByteFallback, Fuse, Strip in an order where each has a meaning in bytes; else None."""
    of_tokens: list[tuple[str, str]] = []
    of_text: list[tuple[str, str]] = []
    seen: set[str] = set()
    strip, strip_count = "", 0
    for step in steps:
        kind = step["type"]
        if kind == "Replace":
            old = step["pattern"].get("String")
            in_text = bool(seen & {"ByteFallback", "Fuse"})
            if not old or "Strip" in seen or (in_text and len(old) != 1):
                return None
            (of_text if in_text else of_tokens).append((old, step["content"]))
        elif kind == "Strip":
            # Before Fuse it would strip every token.
            if "Fuse" not in seen or "Strip" in seen or step["stop"] or len(step["content"]) != 1:
                return None
            strip, strip_count = step["content"], step["start"]
        elif kind not in {"ByteFallback", "Fuse"} or kind in seen or (kind == "ByteFallback" and "Fuse" in seen):
            return None
        seen.add(kind)
    if "ByteFallback" not in seen and "Fuse" not in seen and not of_tokens:
        return None
    return ByteDecoding(
        byte_fallback="ByteFallback" in seen,
        token_replacements=tuple(of_tokens),
        text_replacements=tuple(of_text),
        strip=strip,
        strip_count=strip_count,
    )
