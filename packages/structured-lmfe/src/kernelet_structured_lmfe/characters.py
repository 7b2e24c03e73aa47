"""Sets of characters, and which bytes of UTF-8 may come next of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

NONE: Final = (1, 0)
LENGTHS: Final = ((0x00, 0x7F, 1), (0xC2, 0xDF, 2), (0xE0, 0xEF, 3), (0xF0, 0xF4, 4))
"""First bytes of characters, and how many bytes these have."""

LEAST: Final = (0, 0, 0x80, 0x800, 0x10000)
"""The first code point that takes so many bytes."""


class Characters:
    """Code points, in ascending ranges with gaps between them."""

    __slots__ = ("_firsts", "_lasts")

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._firsts, self._lasts = zip(*ranges, strict=True)

    def meets(self, first: int, last: int) -> bool:
        """Whether any of these code points is in the set; there are none where ``first > last``."""
        place = bisect_right(self._firsts, last) - 1
        return place >= 0 and first <= last and self._lasts[place] >= first


def length_of(first: int) -> int:
    """Bytes of a character that begins with this one; 0: none does."""
    return next((length for low, high, length in LENGTHS if low <= first <= high), 0)


def span_of(data: bytes) -> tuple[int, int]:
    """First and last code point of the characters whose UTF-8 begins with these bytes, surrogates too."""
    length = length_of(data[0])
    if not length or any(byte & 0xC0 != 0x80 for byte in data[1:]):
        return NONE
    code = data[0] & (0x7F if length == 1 else 0x7F >> length)
    for byte in data[1:]:
        code = code << 6 | byte & 0x3F
    bits = 6 * (length - len(data))
    return max(code << bits, LEAST[length]), min((code + 1 << bits) - 1, 0x10FFFF)


def next_bytes(sets: Iterable[Characters], pending: bytes) -> frozenset[str]:
    """The bytes that may come next of a character whose first bytes are these, as characters of the same number."""
    follow = range(0x80, 0xC0) if pending else (*range(0x80), *range(0xC2, 0xF5))
    spans = [(chr(byte), *span_of(pending + bytes((byte,)))) for byte in follow]
    found: set[str] = set()
    for one in sets:
        found.update(byte for byte, first, last in spans if one.meets(first, last))
    return frozenset(found)
