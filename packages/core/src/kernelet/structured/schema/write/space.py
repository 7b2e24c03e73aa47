"""Whitespace and punctuation between tokens."""

from __future__ import annotations

from typing import Final

from kernelet.contracts.structured import EMPTY, Chars, Expression, Repeat, Text
from kernelet.structured.expressions import concat_of, repeat_of
from kernelet.structured.rules import RuleWriter

WHITESPACE: Final = Chars(((0x09, 0x0A), (0x0D, 0x0D), (0x20, 0x20)))


class Punctuation:
    """Commas, colons and brackets, with the whitespace that may stand beside them.

    Args:
        max_whitespace: Most characters of it at one place.
        rules: Gets the one of whitespace.

    Attributes:
        comma: With whitespace on both sides.
        colon: With whitespace on both sides.
    """

    def __init__(self, max_whitespace: int, rules: RuleWriter) -> None:
        self._space: Expression = EMPTY
        if max_whitespace:
            self._space = rules.add(Repeat(WHITESPACE, 0, max_whitespace), "space")
        self.comma = concat_of(self._space, Text(","), self._space)
        self.colon = concat_of(self._space, Text(":"), self._space)

    def bracketed(self, brackets: str, inner: Expression, *, may_be_empty: bool) -> Expression:
        """Something between brackets, or nothing."""
        inner = concat_of(inner, self._space)
        return concat_of(
            Text(brackets[0]), self._space, repeat_of(inner, 0, 1) if may_be_empty else inner, Text(brackets[1])
        )
