"""Characters inside a JSON string: raw or escaped."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from kernelet.contracts.structured import EMPTY, Chars, Expression, Rule, Text
from kernelet.structured.automata.alphabet import LAST, Ranges, intersect
from kernelet.structured.expressions import concat_of, repeat_of, union_of
from kernelet.structured.rules import RuleWriter
from kernelet.structured.schema.write.parts import NOTHING, any_of, char_of, chars

RAW: Final[Ranges] = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0xD7FF), (0xE000, LAST))
"""What a JSON string holds without escape."""

SHORT: Final[Mapping[int, str]] = MappingProxyType(
    {0x08: "b", 0x09: "t", 0x0A: "n", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x5C: "\\"}
)
"""Letters of short escapes."""

LONG: Final[Ranges] = ((0x00, 0x07), (0x0B, 0x0B), (0x0E, 0x1F), (0x80, 0xD7FF), (0xE000, 0xFFFF))
"""What may, or must, be ``\\u`` and four digits."""

BLOCK: Final = 0x400
"""Characters that share the first of two escapes."""


def quoted(text: str) -> Expression:
    """A text with its quotes; what is not ASCII raw or escaped."""
    parts: list[Expression] = [Text('"')]
    for is_ascii, run in itertools.groupby(text, str.isascii):
        raw = "".join(run)
        escaped = json.dumps(raw)[1:-1]
        if is_ascii:
            parts.append(Text(escaped))
        else:
            forms = [escaped, escaped.upper().replace("\\U", "\\u")]
            if not any(0xD800 <= ord(character) <= 0xDFFF for character in raw):
                forms.insert(0, raw)
            parts.append(any_of(map(Text, forms)))
    return concat_of(*parts, Text('"'))


class Characters:
    """Writes characters of strings; what is large is written once.

    Attributes:
        any: Any character, with every escape that JSON has.
        rest: Any number of them.
    """

    def __init__(self, rules: RuleWriter) -> None:
        self._rules = rules
        self._escaped: dict[Ranges, Expression] = {}
        self._any: Rule | None = None
        self._rest: Rule | None = None

    @property
    def any(self) -> Rule:
        if self._any is None:
            letters = Chars(tuple((ord(letter), ord(letter)) for letter in '"/\\bfnrt'))
            unit = any_of(
                [
                    hex_digits(((0, 0xD7FF), (0xE000, 0xFFFF)), 4),
                    concat_of(hex_digits(((0xD800, 0xDBFF),), 4), Text("\\u"), hex_digits(((0xDC00, 0xDFFF),), 4)),
                ]
            )
            escape = concat_of(Text("\\"), union_of(letters, concat_of(Text("u"), unit)))
            self._any = self._rules.add(union_of(Chars(RAW), escape), "character")
        return self._any

    @property
    def rest(self) -> Rule:
        if self._rest is None:
            self._rest = self._rules.add(repeat_of(self.any, 0, None), "characters")
        return self._rest

    def of(self, ranges: Ranges) -> Expression:
        """One character of a class: raw where that is allowed, or escaped where it is not ASCII."""
        raw, escaped = intersect(ranges, RAW), self._escape(ranges)
        return union_of(chars(raw), escaped)

    def _escape(self, ranges: Ranges) -> Expression:
        beyond = tuple((max(low, 0x10000), high) for low, high in ranges if high >= 0x10000)
        key = (*intersect(ranges, tuple((code, code) for code in SHORT)), *intersect(ranges, LONG), *beyond)
        if not key:
            return NOTHING
        if key not in self._escaped:
            short = [ord(letter) for code, letter in SHORT.items() if intersect(ranges, ((code, code),))]
            long = union_of(hex_digits(intersect(ranges, LONG), 4), *pairs(beyond))
            escape = concat_of(Text("\\"), union_of(char_of(short), concat_of(Text("u"), long)))
            large = len(key) > 1 or key[0][0] != key[0][1]
            self._escaped[key] = self._rules.add(escape, "escape") if large else escape
        return self._escaped[key]


def pairs(ranges: Ranges) -> list[Expression]:
    """Characters beyond U+FFFF as two escapes, without the first two of their signs."""
    seconds: dict[int, list[tuple[int, int]]] = {}
    for low, high in ranges:
        for block in range((low - 0x10000) // BLOCK, (high - 0x10000) // BLOCK + 1):
            start = 0x10000 + block * BLOCK
            seconds.setdefault(block, []).append((max(low, start) - start, min(high, start + BLOCK - 1) - start))
    firsts: dict[Ranges, list[int]] = {}
    for block, offsets in seconds.items():
        firsts.setdefault(tuple(offsets), []).append(block)
    return [
        concat_of(
            hex_digits(_runs(0xD800 + block for block in blocks), 4),
            Text("\\u"),
            hex_digits(tuple((0xDC00 + low, 0xDC00 + high) for low, high in offsets), 4),
        )
        for offsets, blocks in firsts.items()
    ]


def _runs(codes: Iterable[int]) -> Ranges:
    """Ascending numbers as ranges."""
    runs: list[tuple[int, int]] = []
    for code in codes:
        runs[-1:] = [(runs[-1][0], code)] if runs and runs[-1][1] == code - 1 else [*runs[-1:], (code, code)]
    return tuple(runs)


def hex_digits(ranges: Ranges, width: int) -> Expression:
    """Numbers of so many hexadecimal digits, in letters of either case."""
    if width == 0:
        return EMPTY
    step = 16 ** (width - 1)
    ways: dict[Ranges, list[int]] = {}
    for digit in range(16):
        part = intersect(ranges, ((digit * step, (digit + 1) * step - 1),))
        if part:
            inner = tuple((low - digit * step, high - digit * step) for low, high in part)
            ways.setdefault(inner, []).append(digit)
    return any_of(concat_of(hex_digit(found), hex_digits(inner, width - 1)) for inner, found in ways.items())


def hex_digit(values: Sequence[int]) -> Expression:
    """One hexadecimal digit of at least one."""
    return char_of(ord(letter) for value in values for letter in (f"{value:x}", f"{value:X}"))
