"""Where a text of bytes stands: tokens may end inside a character."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.testing.grammar_engine.recognizer import Recognizer, State

Place = tuple[State, bytes]
"""After the last whole character, and the bytes of one that is not complete."""

LENGTHS = bytes(
    [*[1] * 0x80, *[0] * (0xC2 - 0x80), *[2] * (0xE0 - 0xC2), *[3] * (0xF0 - 0xE0), *[4] * (0xF5 - 0xF0), *[0] * 11]
)
"""Bytes of a character that begins with this one; 0: none does."""


def step(recognizer: Recognizer, place: Place, data: bytes) -> Place | None:
    """Where a text stands after more bytes; None: no text goes on so."""
    state, pending = place
    for byte in data:
        pending += bytes([byte])
        first, last = characters_of(pending)
        if not state.allows(first, last):
            return None
        if len(pending) == LENGTHS[pending[0]]:
            after = recognizer.step(state, chr(first))
            assert after is not None, "what is allowed can be read"
            state, pending = after, b""
    return state, pending


def is_whole(place: Place) -> bool:
    """Whether the text up to here is derived."""
    state, pending = place
    return state.is_whole and not pending


def is_forced(recognizer: Recognizer, place: Place, data: bytes) -> bool:
    """Whether every text that goes on goes on with these bytes, and none ends before or between them."""
    for byte in data:
        follow = [one for one in range(256) if step(recognizer, place, bytes([one]))]
        after = step(recognizer, place, bytes([byte]))
        if is_whole(place) or follow != [byte] or after is None:
            return False
        place = after
    return True


def characters_of(pending: bytes) -> tuple[int, int]:
    """First and last code point of the characters whose UTF-8 begins with these bytes; (1, 0): there are none."""
    length = LENGTHS[pending[0]]
    if length == 1:
        return (pending[0], pending[0]) if len(pending) == 1 else (1, 0)
    surrogate = pending[0] == 0xED and pending[1:2] > b"\x9f"
    if not length or surrogate or any(byte & 0xC0 != 0x80 for byte in pending[1:]):
        return 1, 0
    code = pending[0] & 0x7F >> length
    for byte in pending[1:]:
        code = code << 6 | byte & 0x3F
    shift = 6 * (length - len(pending))
    least = (0, 0x80, 0x800, 0x10000)[length - 1]  # smaller ones are written with less bytes
    return max(code << shift, least), min((code + 1 << shift) - 1, 0x10FFFF)


class TokenTree:
    """The tokens of a vocabulary by their first bytes.

    Attributes:
        ids: The tokens that end here.
        after: By the next byte.
    """

    def __init__(self, token_bytes: Sequence[bytes] = ()) -> None:
        self.ids: list[int] = []
        self.after: dict[int, TokenTree] = {}
        for token_id, text in enumerate(token_bytes):
            if text:
                self._find(text).ids.append(token_id)

    def _find(self, text: bytes) -> TokenTree:
        tree = self
        for byte in text:
            tree = tree.after.setdefault(byte, TokenTree())
        return tree

    def fitting(self, recognizer: Recognizer, place: Place) -> list[int]:
        """The tokens with which a text may go on."""
        found: list[int] = []
        for byte, tree in self.after.items():
            after = step(recognizer, place, bytes([byte]))
            if after:
                found += tree.ids
                found += tree.fitting(recognizer, after) if tree.after else []
        return found
